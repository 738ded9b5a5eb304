"""TRL016: under which engines it reports, what shows them, its messages, and how it is fixed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from snippets import SETTINGS, Snippets, loop, shown, trainer

from trl_lint.findings import Applicability, Finding
from trl_lint.linter.execution import project_files
from trl_lint.linter.files.discovery import import_roots
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

UNDER = {
    word: Snippets("TRL016", replace(SETTINGS, engines=(word,)))
    for word in ("ddp", "fsdp", "deepspeed", "deepspeed-zero3")
}
FSDP = UNDER["fsdp"]
MAIN = "if accelerator.is_main_process:\n"
SAVE = MAIN + "    accelerator.save_state('x')"
STATE_DICT = MAIN + "    torch.save(accelerator.get_state_dict(model), 'x')"
SAVE_MODEL = "def log(self, logs, start_time=None):\n    if self.args.should_save:\n        self.save_model()"

GENERATES = """\
def evaluate(self, *args):
    from trl.models.utils import unwrap_model_for_generation

    if self.accelerator.is_main_process:
        with unwrap_model_for_generation(self.model_wrapped, self.accelerator) as model:
            print(model.config)
    return super().evaluate(*args)
"""


# --- which calls, under which engines ---------------------------------------------------------------------


def test_a_finding_names_the_call_and_the_engine():
    text = loop(SAVE)
    finding = FSDP.finding(text)
    assert shown(text, finding) == "accelerator.save_state('x')"
    assert finding.message == (
        "only ranks where `accelerator.is_main_process` is true reach `save_state`: "
        "under FSDP (see the setting `engines`) they wait for the others until the time-out"
    )
    assert finding.help == "call `save_state` on every rank, outside the condition: each rank writes its own part"
    assert finding.because[-1].text == "`accelerator.is_main_process` differs between ranks"
    assert finding.fix is not None and finding.fix.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    ("text", "engines"),
    [
        (loop(SAVE), {"fsdp", "deepspeed", "deepspeed-zero3"}),
        (loop(MAIN + "    accelerator.save_model(model, 'x')"), {"fsdp", "deepspeed-zero3"}),
        (loop(STATE_DICT), {"fsdp", "deepspeed-zero3"}),
        (trainer(SAVE_MODEL), {"fsdp", "deepspeed-zero3"}),
        (loop(MAIN + "    weights = model._zero3_consolidated_16bit_state_dict()"), {"deepspeed-zero3"}),
        (loop(MAIN + "    weights = model._consolidated_16bit_state_dict()"), {"deepspeed-zero3"}),
        (trainer(SAVE_MODEL.replace("save_model()", "deepspeed._zero3_consolidated_16bit_state_dict()")),
         {"deepspeed-zero3"}),
        (trainer(SAVE_MODEL.replace("save_model()", "model_wrapped.save_16bit_model('x')")), {"deepspeed-zero3"}),
        (loop(f"from torch.distributed.checkpoint import state_dict\n{MAIN}    state_dict.get_state_dict(model)"),
         {"fsdp"}),
        # It saves the model on all ranks before the main process uploads it.
        (trainer(SAVE_MODEL.replace("save_model()", "push_to_hub()")), {"fsdp", "deepspeed-zero3"}),
        # Parameters inside the wrapper are gathered for running it.
        (loop(MAIN + "    accelerator.unwrap_model(model).generate(batch['x'])"), {"fsdp", "deepspeed-zero3"}),
        (loop(f"inside = accelerator.unwrap_model(model)\n{MAIN}    inside(batch['x'])"), {"fsdp", "deepspeed-zero3"}),
        (loop(f"inside = accelerator.unwrap_model(model)\ninside(batch['x'])\n{MAIN}    print(1)"), set()),
        (loop(f"import copy\nother = copy.deepcopy(accelerator.unwrap_model(model))\n{MAIN}    other(batch['x'])"),
         set()),
        # How often a part of it runs depends on the texts, which are usually cut to one length.
        (loop("inside = accelerator.unwrap_model(model)\nfor at in range(0, batch['x'].shape[1], 256):\n"
              "    inside(batch['x'][:, at : at + 256])"), set()),
        (loop("with deepspeed.zero.GatheredParameters(list(model.parameters())):\n    if accelerator.is_main_process:\n"
              "        accelerator.unwrap_model(model).generate(batch['x'])"), set()),
        # The wrapper hands it on to the module inside.
        (loop(MAIN + "    model.generate(batch['x'])"), {"fsdp", "deepspeed-zero3"}),
        (trainer(SAVE_MODEL.replace("save_model()", "model_wrapped.generate(logs)")), {"fsdp", "deepspeed-zero3"}),
        (loop("model.generate(batch['x'])"), set()),
        (loop("with deepspeed.zero.GatheredParameters(list(model.parameters())):\n    if accelerator.is_main_process:\n"
              "        model.generate(batch['x'])"), set()),
        # It gathers the parameters unless it is told not to; what is run inside then gathers them layer by layer.
        (trainer(GENERATES), {"deepspeed-zero3"}),
        (trainer(GENERATES.replace("accelerator)", "accelerator, gather_deepspeed3_params=False)")), set()),
        (trainer(GENERATES.replace("is_main_process", "num_processes > 1")), set()),
        # The call that is a collective under each engine comes later, after the first has failed.
        (trainer("def save_model(self, output_dir=None):\n    if self.args.should_save:\n        try:\n"
                 "            self._save(output_dir, state_dict=self.accelerator.get_state_dict(self.model))\n"
                 "        except ValueError:\n            self.model_wrapped.save_checkpoint(output_dir)"),
         {"fsdp", "deepspeed-zero3"}),
        # Without an engine it is a collective as well, and that is TRL006.
        (loop(MAIN + "    accelerator.wait_for_everyone()"), set()),
    ],
)  # fmt: skip
def test_each_call_is_a_collective_under_some_engines_only(text, engines):
    assert {word for word, snippets in UNDER.items() if snippets.findings(text)} == engines


ENGINE = """\
import deepspeed
import torch
import torch.distributed as dist

class Net(torch.nn.Module):
    def forward(self, x):
        return x

def main(net, rows):
    deepspeed.init_distributed()
    engine, _, _, _ = deepspeed.initialize(model=net)
    for x in rows:
        engine.backward(engine(x).mean())
        engine.step()
        SHOWN
"""


@pytest.mark.parametrize(
    ("shown", "is_reported"),
    [
        ("if dist.get_rank() == 0:\n            engine(x)", True),
        ("if dist.get_rank() == 0:\n            engine.forward(x)", True),
        ("if dist.get_rank() == 0:\n            engine.module(x)", True),
        ("engine(x)", False),
        ("if dist.get_rank() == 0:\n            net(x)", False),  # it may be another model
        # Some ranks have more to show.
        ("if x.sum() > 3:\n            engine(x)", False),
        (
            "with deepspeed.zero.GatheredParameters(list(engine.parameters())):\n"
            "            if dist.get_rank() == 0:\n                engine(x)",
            False,
        ),
    ],
)
def test_the_forward_of_an_engine_gathers_parameters(shown: str, is_reported: bool):
    text = ENGINE.replace("SHOWN", shown)
    of_class = text.replace("main(net, rows):", "main(rows):\n    net = Net()")
    for each in (text, of_class):
        assert bool(UNDER["deepspeed-zero3"].findings(each)) is is_reported
        assert UNDER["deepspeed"].findings(each) == UNDER["fsdp"].findings(each) == []


@pytest.mark.parametrize("test", ["deep_speed_stage == '3'", "is_deepspeed_zero3"])
def test_beside_a_test_for_the_engine_it_is_silent(test):
    indented = SAVE.replace("\n", "\n    ")
    text = loop(f"deep_speed_stage = os.environ['STAGE']\nif {test}:\n    print(1)\nelse:\n    {indented}")
    assert not any(snippets.findings(text) for snippets in UNDER.values())
    assert any(snippets.findings(text.replace(test, "args.fast")) for snippets in UNDER.values())


def test_of_two_saves_the_one_that_more_engines_share_counts():
    text = loop(MAIN + "    weights = accelerator.get_state_dict(model)\n    accelerator.save_state('x')")
    assert "`save_state`" in UNDER["deepspeed"].finding(text).message


def test_ranks_that_leave_before_it():
    text = trainer("""
        def log(self, logs, start_time=None):
            if not self.is_world_process_zero():
                return
            self.save_model()
    """)
    finding = FSDP.finding(text)
    assert shown(text, finding) == "return"
    assert "is true `return` here and do not reach `save_model`: under FSDP" in finding.message
    assert finding.help.startswith("call `save_model` on every rank, before ranks leave, or let all ranks leave")


def test_a_helper_that_saves_is_followed():
    text = trainer("""
        def _keep(self):
            self.save_model()

        def log(self, logs, start_time=None):
            if self.is_world_process_zero():
                self._keep()
    """)
    finding = FSDP.finding(text)
    assert shown(text, finding) == "self._keep()"
    assert finding.because[-1].text == "`save_model` is called in `_keep`"


@pytest.mark.parametrize(
    "body",
    [
        "accelerator.save_state('x')",
        f"weights = accelerator.get_state_dict(model)\n{MAIN}    torch.save(weights, 'x')",
        "if step % 5 == 0:\n    accelerator.save_state('x')",
        f"{SAVE}\nelse:\n    accelerator.save_state('x')",
        "if unknown():\n    accelerator.save_state('x')",
    ],
)
def test_saves_of_all_ranks_are_right(body):
    assert FSDP.findings(loop(body)) == []


def test_a_save_that_knows_of_sharding_is_left_alone():
    text = trainer("""
        def log(self, logs, start_time=None):
            if self.is_fsdp_enabled:
                self.save_model()
            elif self.args.should_save:
                self.save_model()
    """)
    assert FSDP.findings(text) == []


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("if isinstance(self.model, FullyShardedDataParallel):\n        return", False),
        ("whole = None if self.is_deepspeed_enabled else self.model", False),
        # It is a collective in whatever form the weights are saved.
        ("if self.is_fsdp_enabled:\n        self.state_plugin.set_state_dict_type('FULL_STATE_DICT')", True),
        ("if self.is_fsdp_enabled:\n        self.state_plugin.set_state_dict_type('FULL_STATE_DICT')\n"
         "        return", False),
        # They are whole inside the block only; under a condition, it is the way of another engine.
        ("with deepspeed.zero.GatheredParameters(self.model.parameters()):\n        pass", True),
        ("if self.args.x:\n        with deepspeed.zero.GatheredParameters(self.model.parameters()):\n"
         "            pass", False),
        ("self.args.deepspeed = None", False),
        # A comment about it does not count.
        ("# Neither DeepSpeed nor FSDP shards it.", True),
        ("shards = 4", True),
        # Nor does code that only creates the engine's settings.
        ("plugin = None\n    if self.args.deepspeed:\n        plugin = DeepSpeedPlugin(zero_stage=3)", True),
        ("plugin = DeepSpeedPlugin(zero_stage=3) if self.args.deepspeed else None", True),
        ("if self.args.fsdp:\n        it = make()\n    elif self.args.zero3:\n        it = DeepSpeedPlugin()", True),
        ("if self.args.zero3:\n        it = DeepSpeedPlugin()\n        if self.args.x:\n            return", False),
        ("if self.args.deepspeed:\n        plugin = make()", False),
    ],
)  # fmt: skip
def test_a_save_is_left_alone_where_code_asks_for_sharding(line, speaks):
    text = "import deepspeed\nfrom torch.distributed.fsdp import FullyShardedDataParallel\n" + trainer(
        f"def log(self, logs, start_time=None):\n    {line}\n    if self.args.should_save:\n        self.save_model()"
    )
    assert bool(FSDP.findings(text)) is speaks


@pytest.mark.parametrize("saved", ["save_state('x')", "save_model(model, 'x')"])
def test_parameters_that_were_gathered_are_no_care_of_a_later_save(saved):
    """An average of the weights gathers them, and they are in parts again when the model or its state is saved."""
    average = "with deepspeed.zero.GatheredParameters(list(model.parameters())):\n    average(model)\n"
    text = "import deepspeed\n" + loop(average + MAIN + f"    accelerator.{saved}")
    assert UNDER["deepspeed-zero3"].findings(text)


# --- what shows an engine ---------------------------------------------------------------------------------

ACCELERATE = "compute_environment: LOCAL_MACHINE\ndistributed_type: {}\n{}num_processes: 8\n"
ZERO = "deepspeed_config:\n  zero_stage: {}\n"


def project(folder: Path, files: dict[str, str], text: str = "", name: str = "train.py") -> list[Finding]:
    """The findings in a training loop that saves its state, next to these files."""
    for each, content in {"pyproject.toml": "[project]\n", **files, name: text or loop(SAVE)}.items():
        path = folder / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    linter = Linter(replace(SETTINGS, root=folder), import_roots(folder, [folder]), (find_rule("TRL016"),))
    return linter.check(folder / name, (folder / name).read_bytes())


def shown_by(findings: list[Finding]) -> tuple[str, ...]:
    """The engine and the file that a finding names."""
    if not findings:
        return ()
    (finding,) = findings
    engine, _, rest = finding.message.partition(": under ")[2].partition(" (see `")
    return engine, rest.partition("`)")[0]


@pytest.mark.parametrize(
    ("name", "text", "engine"),
    [
        ("fsdp.yaml", ACCELERATE.format("FSDP", ""), "FSDP"),
        ("fsdp.yaml", ACCELERATE.format("FSDP", "fsdp_config:\n  fsdp_sharding_strategy: NO_SHARD\n"), None),
        ("ds.yaml", ACCELERATE.format("DEEPSPEED", ZERO.format(2)), "DeepSpeed"),
        ("gpus.yaml", ACCELERATE.format("MULTI_GPU", ""), None),
        ("off.yaml", ACCELERATE.format("FSDP", "").replace("dist", "# dist"), None),
        ("sft.yaml", "model: x\nfsdp: full_shard auto_wrap\n", "FSDP"),
        ("sft.yaml", "model: x\ndeepspeed: configs/ds.json\n", "DeepSpeed"),
        ("ds.json", '{"zero_optimization": {"stage": 2}}', "DeepSpeed"),
        ("data.json", '{"deepspeed": ["zero_optimization"]}', None),
        ("broken.json", '{"zero_optimization": ', None),
        ("run.sh", "accelerate launch --use_fsdp train.py\n", "FSDP"),
        ("run.sh", "accelerate launch \\\n  --num_processes 8 \\\n  --use_deepspeed \\\n  train.py\n", "DeepSpeed"),
        ("run.sh", "# accelerate launch --use_fsdp train.py\naccelerate launch train.py\n", None),
        ("run.sh", "accelerate launch --multi_gpu train.py\n", None),
        ("run.sh", "deepspeed --num_gpus 8 train.py\n", "DeepSpeed"),
        ("run.sh", "pip install deepspeed\necho fsdp\n", None),
        ("run.sh", "torchrun --nproc_per_node 8 train.py --deepspeed ds.json\n", "DeepSpeed"),
        ("run.sh", "torchrun --nproc_per_node 8 train.py --fsdp 'full_shard auto_wrap'\n", "FSDP"),
        ("run.sh", "torchrun --nproc_per_node 8 train.py --fsdp no_shard\n", None),
        ("run.sh", "python submit.py --gpus 8 -- accelerate launch --use_deepspeed train.py\n", "DeepSpeed"),
        ("Makefile", "train:\n\taccelerate launch --use_fsdp train.py\n", "FSDP"),
        ("README.md", "Try this:\n\n```bash\naccelerate launch --use_fsdp train.py\n```\n", "FSDP"),
        ("README.md", "Use this:\n\n```yaml\n" + ACCELERATE.format("FSDP", "") + "```\n", "FSDP"),
        ("README.md", "It works with FSDP and DeepSpeed ZeRO-3.\n", None),
        ("setup.py", "from deepspeed import zero\nfsdp = None\n", None),
        ("wrap.py", "import deepspeed\n\nengine, *_ = deepspeed.initialize(model=model)\n", "DeepSpeed"),
        ("wrap.py", "plugin = FullyShardedDataParallelPlugin()\n", "FSDP"),
        ("wrap.py", "model = FSDP(model, **settings)\n", "FSDP"),
        # The launch determines whether it is used.
        ("wrap.py", "model = FSDP(model, **kept(state.fsdp_plugin))\n", None),
        ("wrap.py", "model = deepspeed.initialize(model, config=state.deepspeed_plugin.deepspeed_config)\n", None),
        ("wrap.py", "args = TrainingArguments('x', fsdp='full_shard auto_wrap')\n", "FSDP"),
        ("wrap.py", "args = TrainingArguments('x', fsdp='')  # or full_shard\n", None),
        ("wrap.py", "more['fsdp'] = 'full_shard auto_wrap'\nargs = TrainingArguments('x', **more)\n", "FSDP"),
        ("wrap.py", "args = TrainingArguments('x', **{'fsdp': ['hybrid_shard', 'auto_wrap']})\n", "FSDP"),
        ("wrap.py", "if args['fsdp'] == 'full_shard':\n    print(args)\n", None),
        ("wrap.py", "more['fsdp'] = ''  # or full_shard\n", None),
        ("wrap.py", "args = TrainingArguments('x', deepspeed='ds.json')\n", "DeepSpeed"),
        ("wrap.py", "plugin = DeepSpeedPlugin(zero_stage=2)\n", "DeepSpeed"),
        ("wrap.py", "optimizer = DummyOptim(model.parameters(), lr=rate)\n", "DeepSpeed"),
        ("wrap.py", "make = SGD if state.deepspeed_plugin is None else DummyOptim\nit = DummyScheduler(it)\n", None),
        ("wrap.py", "# deepspeed.initialize(model=model)\nassert not isinstance(model, FSDP)\n", None),
    ],
)  # fmt: skip
def test_what_a_project_ships_shows_its_engine(name, text, engine, tmp_path):
    assert shown_by(project(tmp_path, {name: text})) == ((engine, name) if engine else ())


@pytest.mark.parametrize(
    ("name", "text", "is_third"),
    [
        ("ds.yaml", ACCELERATE.format("DEEPSPEED", ZERO.format(3)), True),
        ("ds.yaml", ACCELERATE.format("DEEPSPEED", ZERO.format(2)), False),
        ("ds.json", '{"zero_optimization": {"stage": 3}}', True),
        ("ds.json", '{"zero_optimization": {"stage": 1}}', False),
        ("run.sh", "deepspeed train.py --zero_stage 3\n", True),
        ("run.sh", "deepspeed train.py --zero_stage 2\n", False),
        ("wrap.py", "plugin = DeepSpeedPlugin(gradient_accumulation_steps=2, zero_stage=3)\n", True),
        ("wrap.py", "weights = engine._zero3_consolidated_16bit_state_dict()\n", True),
        ("ds.py", 'CONFIG = {\n    "zero_optimization": {"overlap_comm": True, "stage": 3},\n}\n', True),
        ("ds.py", 'CONFIG = {\n    "zero_optimization": {"stage": 2},\n}\n', False),
        ("ds.py", 'BOTH = [{"zero_optimization": {"stage": 2}}, {"zero_optimization": {"stage": 3}}]\n', False),
    ],
)
def test_the_stage_decides_on_the_weights(name, text, is_third, tmp_path):
    found = project(tmp_path, {name: text}, loop(STATE_DICT))
    assert shown_by(found) == (("DeepSpeed ZeRO-3", name) if is_third else ())


FSDP_CONFIG = {"fsdp.yaml": ACCELERATE.format("FSDP", "")}


@pytest.mark.parametrize(
    ("files", "name", "where"),
    [
        # The nearest file that shows it is named, and code only if nothing else does.
        ({"a/fsdp.yaml": "distributed_type: FSDP\n", "b/fsdp.yaml": "distributed_type: FSDP\n"}, "b/c/train.py",
         "b/fsdp.yaml"),
        ({"configs/x/fsdp.yaml": "distributed_type: FSDP\n", "src/plugin.py": "fully_shard(model)\n"}, "src/train.py",
         "configs/x/fsdp.yaml"),
        # Examples with their own requirements are run in their own way.
        ({**FSDP_CONFIG, "examples/a/requirements.txt": "torch\n"}, "examples/a/train.py", None),
        ({"examples/a/requirements.txt": "torch\n", "examples/a/fsdp.yaml": "distributed_type: FSDP\n"}, "train.py",
         None),
        # A document covers the files below it.
        ({"docs/x/README.md": "```yaml\ndistributed_type: FSDP\n```\n"}, "train.py", None),
        ({"README.md": "```yaml\ndistributed_type: FSDP\n```\n"}, "src/a/train.py", "README.md"),
        # Settings of the tests are for the tests.
        ({"tests/configs/fsdp.yaml": "distributed_type: FSDP\n"}, "train.py", None),
        # Files that git ignores are a developer's own, and excluded files are not read.
        ({".gitignore": "fsdp.yaml\n", **FSDP_CONFIG}, "train.py", None),
        ({"build/fsdp.yaml": "distributed_type: FSDP\n"}, "train.py", None),
    ],
)  # fmt: skip
def test_what_counts_for_a_file(files, name, where, tmp_path):
    assert shown_by(project(tmp_path, files, name=name)) == (("FSDP", where) if where else ())


PROGRAM = '\nif __name__ == "__main__":\n    main()\n'


@pytest.mark.parametrize(
    ("own", "other", "where"),
    [
        ("", "", "other.py"),
        (PROGRAM, "", "other.py"),
        ("", PROGRAM, "other.py"),
        (PROGRAM, PROGRAM, None),
    ],
)
def test_what_a_program_makes_counts_for_no_other_program(own, other, where, tmp_path):
    """It is itself run under the engine; another program may be started differently."""
    findings = project(tmp_path, {"other.py": f"fully_shard(model)\n{other}"}, loop(SAVE) + own)
    assert shown_by(findings) == (("FSDP", where) if where else ())


@pytest.mark.parametrize(
    ("name", "settings", "imports", "where"),
    [
        ("one/train.py", "other/configs/base.py", "", None),
        ("one/train.py", "one/configs/base.py", "", "one/configs/base.py"),
        ("one/train.py", "configs/base.py", "", "configs/base.py"),
        ("one/train.py", "other/configs/base.py", "from other.configs.base import args\n", "other/configs/base.py"),
        ("one/own/train.py", "one/configs/base.py", "", "one/configs/base.py"),
    ],
)
def test_settings_in_code_count_for_the_programs_around_them(name, settings, imports, where, tmp_path):
    files = {"other/train.py": f"import torch{PROGRAM}", settings: 'args = TrainingArguments(fsdp="full_shard")\n'}
    findings = project(tmp_path, files, imports + loop(SAVE) + PROGRAM, name=name)
    assert shown_by(findings) == (("FSDP", where) if where else ())


def test_a_program_speaks_for_itself(tmp_path):
    text = loop("fully_shard(model)\n" + SAVE) + PROGRAM
    assert shown_by(project(tmp_path, {}, text)) == ("FSDP", "train.py")


STARTED = """
import deepspeed
import torch.distributed as dist


def main(net, loader, args, given):
    {settings}
    engine, *_ = deepspeed.initialize(args=args, model=net, {passed})
    for batch in loader:
        engine.backward(engine(batch).mean())
        engine.step()
    if dist.get_rank() == 0:
        engine.save_16bit_model("x")
"""
ZERO3 = {"other/zero3.yaml": ACCELERATE.format("DEEPSPEED", ZERO.format(3))}
FIRST = "settings = {'zero_optimization': {'offload': {'x': 1}, 'stage': 1}}"
THIRD = "settings = {'zero_optimization': {'offload': {'x': 1}, 'stage': 3}}"


@pytest.mark.parametrize(
    ("settings", "passed", "where"),
    [
        ("", "config=given", "other/zero3.yaml"),
        ("", "mpu=None", "other/zero3.yaml"),
        ("", "config='zero1.json'", "other/zero3.yaml"),
        ("", "config={'zero_optimization': {'stage': args.stage}}", "other/zero3.yaml"),
        ("", "config={**given}", "other/zero3.yaml"),
        ("", "config={'zero_optimization': {'stage': 2}}", None),
        ("", "config_params=dict(zero_optimization=dict(stage=2))", None),
        ("", "config={'bf16': {'enabled': True}}", None),
        ("", "config={**given, 'zero_optimization': {'stage': 1}}", None),
        (FIRST, "config=settings", None),
        (FIRST, "**given", "other/zero3.yaml"),
        (f"{FIRST}\n    settings['train_batch_size'] = given", "config=settings", None),
        (f"{FIRST}\n    settings['zero_optimization']['stage'] = 2", "config=settings", None),
        (f"{FIRST}\n    settings['zero_optimization']['stage'] = args.stage", "config=settings", "other/zero3.yaml"),
        (f"{FIRST}\n    settings['zero_optimization'] = given", "config=settings", "other/zero3.yaml"),
        (f"{FIRST}\n    settings.update(given)", "config=settings", "other/zero3.yaml"),
        (f"stage = 1 if given else 2\n    {FIRST.replace('1}}', 'stage}}')}", "config=settings", None),
        (f"args.{FIRST}", "config=args.settings", None),
        (f"def made():\n        {FIRST}\n        return settings", "config=made()", None),
        (f"{FIRST}\n    if given:\n        settings = given", "config=settings", "other/zero3.yaml"),
        # These may prepare another model as settings say.
        (f"{FIRST}\n    Accelerator()", "config=settings", "other/zero3.yaml"),
        # The third stage in code shows itself, however it is written.
        (THIRD, "config=settings", "other/zero3.yaml"),
        (f"{FIRST}\n    if given:\n        settings['zero_optimization']['stage'] = 3", "config=settings",
         "other/zero3.yaml"),
    ],
)  # fmt: skip
def test_a_stage_in_code_decides_for_its_program(settings, passed, where, tmp_path):
    findings = project(tmp_path, ZERO3, STARTED.format(settings=settings, passed=passed))
    assert shown_by(findings) == (("DeepSpeed ZeRO-3", where) if where else ())


@pytest.mark.parametrize("settings", [THIRD, f"{FIRST}\n    settings['zero_optimization']['stage'] = 3"])
def test_the_third_stage_in_code_shows_itself(settings, tmp_path):
    findings = project(tmp_path, {}, STARTED.format(settings=settings, passed="config=settings"))
    assert shown_by(findings) == ("DeepSpeed ZeRO-3", "train.py")


SAVER = """
import torch.distributed as dist


def save(engine):
    if dist.get_rank() == 0:
        engine.save_16bit_model("x")
"""


@pytest.mark.parametrize(
    ("starts", "others", "is_third"),
    [
        ({"own.py": FIRST, "main.py": "import saver\nimport own\n"}, [], False),
        ({"main.py": f"import saver\n{FIRST}"}, [], False),
        ({"main.py": f"import saver\n{FIRST}", "again.py": "import saver\nsettings = None"}, [], True),
        ({"main.py": f"import saver\n{FIRST}"}, ["eval.py"], True),
        ({"own.py": FIRST}, [], True),
    ],
)
def test_a_stage_in_code_decides_for_what_its_program_imports(starts, others, is_third, tmp_path):
    """others: programs that use the file and say nothing of a stage."""
    start = "\nimport deepspeed\ndeepspeed.initialize(net, config=settings)\n"
    files = {name: text + (start if "settings" in text else "") + PROGRAM for name, text in starts.items()}
    files |= {name: f"import saver\n{PROGRAM}" for name in others}
    findings = project(tmp_path, ZERO3 | files, SAVER, name="saver.py")
    assert (shown_by(findings) == ("DeepSpeed ZeRO-3", "other/zero3.yaml")) is is_third


TORCHRUN = "torchrun --nproc_per_node 8 {}\n"
RUN = "```bash\naccelerate launch train.py\n```\n"
TOLD = "```yaml\n" + ACCELERATE.format("FSDP", "") + "```\n" + RUN.replace("train.py", "{}")
BELOW = {"below/other.py": PROGRAM, "below/requirements.txt": ""}


@pytest.mark.parametrize(
    ("files", "where"),
    [
        # Settings that only the launch of another program names belong to that program.
        ({"run.sh": TORCHRUN.format("train.py") + "accelerate launch --config_file fsdp.yaml other.py\n"}, None),
        ({"run.sh": "accelerate launch --config_file fsdp.yaml train.py\n"}, "fsdp.yaml"),
        ({"run.sh": TORCHRUN.format("train.py fsdp.yaml")}, "fsdp.yaml"),
        ({"run.sh": TORCHRUN.format("train.py"), "README.md": "`accelerate launch --use_fsdp other.py`\n"}, None),
        # An unknown launch may name them.
        ({"run.sh": "accelerate launch train.py\n"}, "fsdp.yaml"),
        ({"run.sh": "accelerate launch --config_file $1 train.py\n"}, "fsdp.yaml"),
        ({"run.sh": TORCHRUN.format("train.py $SETTINGS")}, "fsdp.yaml"),
        ({"run.sh": TORCHRUN.format("train.py --output $FOLDER")}, None),
        # No file shows how this program is started.
        ({"run.sh": TORCHRUN.format("other.py")}, "fsdp.yaml"),
        ({"run.sh": "accelerate launch --config_file fsdp.yaml other.py\n", "other.py": PROGRAM}, None),
        ({"run.sh": "accelerate launch --config_file fsdp.yaml gone.py\n"}, "fsdp.yaml"),
        ({"run.sh": "accelerate launch --config_file fsdp.yaml below/other.py\n", **BELOW}, None),
        ({"run.sh": "accelerate launch --config_file fsdp.yaml below/gone.py\n", **BELOW}, "fsdp.yaml"),
        # A document covers the programs that it starts, if there are any.
        ({"README.md": TOLD.format("other.py"), "fsdp.yaml": "", "other.py": PROGRAM}, None),
        ({"README.md": TOLD.format("other.py"), "RUN.md": RUN, "fsdp.yaml": "", "other.py": PROGRAM}, None),
        ({"README.md": TOLD.format("gone.py"), "fsdp.yaml": ""}, "README.md"),
        ({"README.md": TOLD.format("other.py") + RUN, "fsdp.yaml": "", "other.py": PROGRAM}, "README.md"),
        ({"run.sh": "accelerate launch --use_fsdp below/other.py\n", "fsdp.yaml": ""}, None),
        ({"run.sh": "accelerate launch --use_fsdp train.py\n", "fsdp.yaml": ""}, "run.sh"),
        ({"other/run.sh": TORCHRUN.format("other/train.py")}, "fsdp.yaml"),
        # A script of commands may be below the folder in which it is started.
        ({"scripts/large/run.sh": TORCHRUN.format("train.py")}, None),
        ({"scripts/run.sh": "accelerate launch --use_fsdp train.py\n", "fsdp.yaml": ""}, "scripts/run.sh"),
    ],
)
def test_how_a_program_is_launched_says_more_than_what_lies_around(files, where, tmp_path):
    assert shown_by(project(tmp_path, {**FSDP_CONFIG, **files}, loop(SAVE) + PROGRAM)) == (
        ("FSDP", where) if where else ()
    )


@pytest.mark.parametrize(
    ("own", "other", "where"),
    [
        ("from lib.saver import save", "", None),
        ("from lib.saver import save", "from lib import saver", "fsdp.yaml"),
        ("", "from lib import saver", "fsdp.yaml"),
        # It is a part of none of the programs whose launches are shown.
        ("", "", None),
    ],
)
def test_a_part_of_programs_is_run_as_those_are(own, other, where, tmp_path):
    files = {
        "run.sh": TORCHRUN.format("train.py") + "accelerate launch --config_file fsdp.yaml other.py\n",
        "train.py": own + PROGRAM,
        "other.py": other + PROGRAM,
    }
    findings = project(tmp_path, {**FSDP_CONFIG, **files}, name="lib/saver.py")
    assert shown_by(findings) == (("FSDP", where) if where else ())


def test_settings_of_deepspeed_are_named_by_settings(tmp_path):
    files = {
        "run.sh": "accelerate launch --config_file zero.yaml train.py\n",
        "zero.yaml": ACCELERATE.format("DEEPSPEED", "deepspeed_config:\n  deepspeed_config_file: ds.json\n"),
        "ds.json": '{"zero_optimization": {"stage": 3}}',
    }
    assert shown_by(project(tmp_path, files, loop(STATE_DICT) + PROGRAM)) == ("DeepSpeed ZeRO-3", "ds.json")


@pytest.mark.parametrize(
    ("launched", "by_default"),
    [
        ("", True),
        ("accelerate launch train.py", True),  # with the settings of the user who runs it
        ("accelerate launch --num_processes 8 train.py", False),  # which these settings would say
        ("accelerate launch --num_processes 8 train.py\naccelerate launch train.py", True),
        ("accelerate launch --config_file configs/gone.yaml $SCRIPT", True),
        ("accelerate launch --config_file configs/gpus.yaml $SCRIPT", False),
        ("accelerate launch --config_file configs/gpus.yaml $SCRIPT\naccelerate launch --config_file fsdp.yaml $SCRIPT",
         True),
        ("accelerate launch --config_file configs/zero.yaml $SCRIPT", False),
        # If settings are named for another program, this one would have them, too.
        ("accelerate launch train.py\naccelerate launch --config_file fsdp.yaml other.py", False),
        ("accelerate launch --config_file $KIND.yaml train.py\ntorchrun other.py fsdp.yaml", True),
        ("accelerate launch --config_file configs/$KIND.yaml train.py\ntorchrun other.py fsdp.yaml", False),
        ("accelerate launch --config_file fsdp.yaml other.py", True),
    ],
)  # fmt: skip
def test_settings_that_launches_leave_aside_for_others_are_asked_for(launched, by_default, tmp_path):
    files = {
        "run.sh": f"{launched}\n",
        "configs/gpus.yaml": ACCELERATE.format("MULTI_GPU", ""),
        "configs/zero.yaml": ACCELERATE.format("DEEPSPEED", "deepspeed_config:\n  deepspeed_config_file: ds.json\n"),
    }
    (finding,) = project(tmp_path, {**FSDP_CONFIG, **files}, loop(STATE_DICT))
    assert (finding.by_default, "FSDP" in finding.message) == (by_default, True)


def test_the_settings_that_launches_name_show_it_before_others_do(tmp_path):
    files = {
        "run.sh": "accelerate launch --config_file configs/zero.yaml $SCRIPT\n",
        "configs/zero.yaml": ACCELERATE.format("DEEPSPEED", "deepspeed_config:\n  deepspeed_config_file: ds.json\n"),
        "ds.json": '{"zero_optimization": {"stage": 3}}',
        "ds2.json": '{"zero_optimization": {"stage": 3}}',
    }
    findings = project(tmp_path, {**FSDP_CONFIG, **files}, loop(STATE_DICT))
    assert shown_by(findings) == ("DeepSpeed ZeRO-3", "ds.json") and findings[0].by_default


def test_what_the_settings_exclude_shows_nothing(tmp_path):
    assert project(tmp_path, FSDP_CONFIG)
    settings = replace(SETTINGS, root=tmp_path, exclude=("*.yaml",))
    linter = Linter(settings, import_roots(tmp_path, [tmp_path]), (find_rule("TRL016"),))
    assert linter.check(tmp_path / "train.py", (tmp_path / "train.py").read_bytes()) == []


def test_it_is_the_same_from_every_folder(tmp_path, monkeypatch):
    found = project(tmp_path, FSDP_CONFIG, name="src/train.py")
    path = tmp_path / "src" / "train.py"
    for folder in (tmp_path, tmp_path / "src", Path(__file__).parent):
        monkeypatch.chdir(folder)
        for named in (path, path.parent):
            linter = Linter(SETTINGS, import_roots(None, [named]), (find_rule("TRL016"),))
            assert [each.message for each in linter.check(path, path.read_bytes())] == [found[0].message]


def test_nobody_looks_where_no_finding_depends_on_it(tmp_path, monkeypatch):
    from trl_lint.linter.execution import scan_cache

    looked: list[Path] = []
    monkeypatch.setattr(scan_cache, "_remembered", {})  # forget the files that other tests have scanned
    monkeypatch.setattr(scan_cache, "of_file", lambda path, data: looked.append(path) or scan_cache.FileEngines())
    project(tmp_path, FSDP_CONFIG, loop("accelerator.gather(loss)"))
    assert not looked
    project(tmp_path, FSDP_CONFIG, loop(SAVE + "\n" + SAVE))
    assert sorted(path.name for path in looked) == ["fsdp.yaml", "pyproject.toml", "train.py"]


def test_a_tree_that_is_too_large_is_looked_at_in_part(tmp_path, monkeypatch):

    for number in range(9):
        (tmp_path / f"x{number}.py").write_text("")
    with monkeypatch.context() as patch:
        patch.setattr(project_files, "MOST_FILES", 5)
        assert project(tmp_path, FSDP_CONFIG)
        assert not project(tmp_path, {"fsdp.yaml": "", "zz.yaml": FSDP_CONFIG["fsdp.yaml"]})
    assert project(tmp_path, {})
    monkeypatch.setattr(project_files, "MOST_NAMES", 5)
    assert not project(tmp_path, {})


def test_the_setting_says_more_than_the_files(tmp_path):
    project(tmp_path, FSDP_CONFIG)
    for engines, count in ((("ddp",), 0), (("ddp", "deepspeed"), 1)):
        settings = replace(SETTINGS, root=tmp_path, engines=engines)
        linter = Linter(settings, import_roots(tmp_path, [tmp_path]), (find_rule("TRL016"),))
        assert len(linter.check(tmp_path / "train.py", (tmp_path / "train.py").read_bytes())) == count


# --- the fix ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        (SAVE, "accelerator.save_state('x')"),
        (f"# a checkpoint\n{SAVE}\nprint(1)", "# a checkpoint\naccelerator.save_state('x')\nprint(1)"),
        ("if step % 5 == 0 and accelerator.is_main_process:\n    accelerator.save_state(f'{step}')",
         "if step % 5 == 0:\n    accelerator.save_state(f'{step}')"),
        (STATE_DICT, f"state_dict = accelerator.get_state_dict(model)\n{MAIN}    torch.save(state_dict, 'x')"),
        (f"{MAIN}    weights = accelerator.get_state_dict(model)\n    torch.save(weights, 'x')",
         f"weights = accelerator.get_state_dict(model)\n{MAIN}    torch.save(weights, 'x')"),
        # Code that only accesses the bare model may come after it.
        (f"{MAIN}    torch.save(accelerator.unwrap_model(model), accelerator.get_state_dict(model))",
         f"state_dict = accelerator.get_state_dict(model)\n{MAIN}"
         "    torch.save(accelerator.unwrap_model(model), state_dict)"),
    ],
)  # fmt: skip
def test_every_rank_makes_the_call(body, fixed):
    text = loop(body)
    assert FSDP.mended(text) == text
    assert FSDP.mended(text, unsafe=True) == loop(fixed)


def test_a_line_is_moved_once_however_many_calls_lead_to_it():
    saves = """
        def save(accelerator, path, extra=None):
            {}if not accelerator.is_main_process:
                return
            {}print(extra)
    """
    line = "accelerator.save_state(path)\n            "
    calls = loop("save(accelerator, 'x')\nsave(accelerator, f'{step}', batch)\nsave(accelerator, 'y', 3)")
    text, fixed = (calls + dedent(saves.format(*each)) for each in (("", line), (line, "")))
    assert FSDP.mended(text, unsafe=True) == fixed


@pytest.mark.parametrize("call", ["self.save_model()", "self.save_model('x')"])
def test_a_trainer_saves_on_every_rank(call):
    text = trainer(f"def log(self, logs, start_time=None):\n    if self.args.should_save:\n        {call}\n")
    assert FSDP.mended(text, unsafe=True) == trainer(f"def log(self, logs, start_time=None):\n    {call}\n")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if mask.any():\n    accelerator.save_state('x')", "how the ranks should agree"),
        (f"{MAIN}    torch.save(loss, 'x')\n    accelerator.save_state('x')\n    print(1)", "it is between things"),
        (f"{MAIN}    torch.save(made(), accelerator.get_state_dict(model))", "come first"),
    ],
)
def test_what_is_not_proven_is_a_hint(body, reason):
    text = loop(body)
    assert FSDP.mended(text, unsafe=True) == text
    fix = FSDP.finding(text).fix
    assert fix.applicability is Applicability.DISPLAY
    assert reason in fix.reason


GENERATED = """
import deepspeed
import torch.distributed as dist


def main(net, loader, batch):
    engine, *_ = deepspeed.initialize(model=net, config={{"zero_optimization": {{"stage": {stage}}}}})
    for each in loader:
        engine.backward(engine(each).mean())
        engine.step()
    {body}
"""


@pytest.mark.parametrize(
    ("body", "stage", "is_found"),
    [
        ("if dist.get_rank() == 0:\n        print(engine.generate(batch))", 3, True),
        ("if dist.get_rank() == 0:\n        print(engine.module.generate(batch))", 3, True),
        ("if dist.get_rank() == 0:\n        print(engine.module.generate(batch))", 2, False),
        ("tokens = engine.module.generate(batch)\n    if dist.get_rank() == 0:\n        print(tokens)", 3, False),
        ("if dist.get_rank() == 0:\n        print(net.tokenizer.generate(batch))", 3, False),
    ],
)
def test_an_engine_generates_on_all_ranks(body, stage, is_found, tmp_path):
    text = GENERATED.format(body=body, stage=stage)
    assert bool(shown_by(project(tmp_path, {}, text))) is is_found
