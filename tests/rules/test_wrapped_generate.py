"""TRL010: what it reports, its messages, and what it leaves alone."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop, shown, trainer
from started import findings_in

from trl_lint.findings import Applicability
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL010")
SAFE, DISPLAY = Applicability.SAFE, Applicability.DISPLAY
IMPORT = "from trl.models import unwrap_model_for_generation\n"


def step(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return IMPORT + trainer(f"def training_step(self, model, inputs, *args):\n{body}")


def test_generate_on_a_wrapped_model():
    text = step("return model.generate(**inputs)")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "model.generate"
    assert (
        finding.message
        == "`.generate` is called on `model`, a wrapped model: AttributeError under DDP and DataParallel"
    )
    assert [each.text for each in finding.because] == ["`model` is the wrapped model"]
    assert "unwrap_model_for_generation" in finding.help
    assert finding.fix is not None and finding.fix.applicability is SAFE
    assert finding.fix.title == "Generate with the bare model"


@pytest.mark.parametrize(
    "text",
    [
        step("self.model_wrapped.generate(**inputs)"),
        step("generate = model.generate", "generate(**inputs)"),
        loop("model.generate(**batch)"),
        IMPORT + trainer(
            "def training_step(self, model, inputs, *args):\n    return self.sample(model, inputs)\n\n"
            "def sample(self, policy, inputs):\n    return policy.generate(**inputs)"
        ),
    ],
)  # fmt: skip
def test_wrapped_models_are_followed(text):
    assert SNIPPETS.finding(text).message.startswith("`.generate` is")


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        (step("model.generate(**inputs)"), "model.generate", "self.accelerator.unwrap_model(model).generate"),
        (
            step("self.model_wrapped.generate(**inputs)"),
            "self.model_wrapped.generate",
            "self.accelerator.unwrap_model(self.model_wrapped).generate",
        ),
        (loop("model.generate(**batch)"), "model.generate", "accelerator.unwrap_model(model).generate"),
        (
            loop("ids = getattr(model, 'generate')(**batch)"),
            "getattr(model, 'generate')",
            "getattr(accelerator.unwrap_model(model), 'generate')",
        ),
        (
            loop("generate = model.generate\nids = generate(**batch)"),
            "model.generate",
            "accelerator.unwrap_model(model).generate",
        ),
    ],
)
def test_the_wrapped_model_is_unwrapped_to_generate(text: str, before: str, after: str):
    mended = SNIPPETS.mended(text)
    assert mended == text.replace(before, after)
    assert SNIPPETS.findings(mended) == []


def test_without_an_accelerator_it_is_a_hint():
    text = (
        "import torch\n\ndef main(local_rank, batch):\n"
        "    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2), device_ids=[local_rank])\n"
        "    model.generate(batch)\n"
    )
    fix = SNIPPETS.finding(text).fix
    assert fix is not None and fix.applicability is DISPLAY
    assert fix.reason == "no `Accelerator` is available here to unwrap the model"


def test_before_the_trainer_has_its_accelerator_it_is_a_hint():
    text = IMPORT + trainer(
        "def __init__(self, model, **kwargs):\n"
        "    self.model_wrapped = torch.nn.DataParallel(model)\n"
        "    self.model_wrapped.generate()\n"
        "    super().__init__(model, **kwargs)\n"
    )
    fix = SNIPPETS.finding(text).fix
    assert fix is not None and fix.applicability is DISPLAY


def test_the_bare_model_is_prepared_for_generation():
    text = step(
        "with unwrap_model_for_generation(self.model, self.accelerator) as unwrapped:",
        "    return unwrapped.generate(**inputs)",
    )
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "self.model"
    assert finding.message.startswith("`unwrap_model_for_generation` gets the bare model: under DeepSpeed ZeRO-3 ")
    assert finding.fix is not None and finding.fix.applicability is SAFE
    assert SNIPPETS.mended(text) == text.replace("(self.model, ", "(self.model_wrapped, ")


@pytest.mark.parametrize(
    "lines",
    [
        ("bare = self.accelerator.unwrap_model(model)", "with unwrap_model_for_generation(bare, self.accelerator):"),
        ("with unwrap_model_for_generation(model=self.accelerator.unwrap_model(model), accelerator=1):",),
        ("with unwrap_model_for_generation(model.module, self.accelerator):",),
    ],
)
def test_elsewhere_it_is_a_hint(lines):
    finding = SNIPPETS.finding(step(*lines, "    pass"))
    assert finding.fix is not None and finding.fix.applicability is DISPLAY


@pytest.mark.parametrize(
    ("arguments", "is_reported"),
    [
        ("self.model, self.accelerator, gather_deepspeed3_params=False", False),
        ("gather_deepspeed3_params=False, accelerator=self.accelerator, model=self.model", False),
        ("self.model, self.accelerator, gather_deepspeed3_params=off", False),
        ("self.model, self.accelerator, gather_deepspeed3_params=True", True),
        ("self.model, self.accelerator, gather_deepspeed3_params=self.args.ds3_gather_for_generation", True),
        ("self.model, self.accelerator, is_peft_model=False", True),
    ],
)
@pytest.mark.parametrize("name", ["unwrap_model_for_generation", "ready"])
def test_without_gathering_no_hooks_are_taken_off(name, arguments, is_reported):
    text = step("off = False", f"with {name}({arguments}) as bare:", "    return bare.generate(**inputs)")
    if name == "ready":
        text = text.replace(IMPORT, IMPORT.strip() + " as ready\n")
    assert bool(SNIPPETS.findings(text)) is is_reported


def test_a_callback_gets_the_bare_model():
    text = (
        f"{IMPORT}from transformers import TrainerCallback\n"
        "class Sampler(TrainerCallback):\n"
        "    def on_evaluate(self, args, state, control, model, **kwargs):\n"
        "        with unwrap_model_for_generation(model, self.accelerator) as unwrapped:\n"
        "            unwrapped.generate()\n"
    )
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY


@pytest.mark.parametrize(
    "lines",
    [
        ("with unwrap_model_for_generation(model, self.accelerator) as bare:", "    bare.generate(**inputs)"),
        ("with unwrap_model_for_generation(self.model_wrapped, self.accelerator) as bare:", "    bare.generate()"),
        ("with unwrap_model_for_generation(self.ref_model, self.accelerator) as bare:", "    bare.generate()"),
        ("self.model.generate(**inputs)",),
        ("self.accelerator.unwrap_model(model).generate(**inputs)",),
        ("model.module.generate(**inputs)",),
        ("if hasattr(model, 'generate'):", "    model.generate(**inputs)"),
        ("if self.is_fsdp_enabled:", "    model.generate(**inputs)"),
        ("self.vllm.generate(inputs)",),
    ],
)
def test_right_code_is_left_alone(lines):
    assert SNIPPETS.findings(step(*lines)) == []


# --- engines that forward attributes ----------------------------------------------------------------------

BARE = step("with unwrap_model_for_generation(self.model, self.accelerator) as bare:", "    bare.generate(**inputs)")
BY_DEEPSPEED, BY_FSDP, BY_DDP = (
    f"accelerate launch {how} train.py\n" for how in ("--use_deepspeed", "--use_fsdp", "--multi_gpu")
)


@pytest.mark.parametrize(
    ("launches", "text", "speaks"),
    [
        ("", loop("model.generate(**batch)"), True),
        (BY_DEEPSPEED, loop("model.generate(**batch)"), False),
        (BY_FSDP, loop("model.generate(**batch)"), False),
        (BY_DDP, loop("model.generate(**batch)"), True),
        # The training may also be started differently.
        (BY_DEEPSPEED + BY_DDP, loop("model.generate(**batch)"), True),
        (BY_DEEPSPEED, step("model.generate(**inputs)"), False),
        # What it says about ZeRO-3 is equally true there.
        (BY_DEEPSPEED, BARE, True),
    ],
)
def test_a_project_that_is_only_run_under_engines_that_hand_it_on(launches, text, speaks, tmp_path):
    (tmp_path / "run.sh").write_text(launches, encoding="utf-8")
    script = tmp_path / "train.py"
    script.write_text(text, encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL010"),))
    assert bool(linter.check(script, script.read_bytes())) is speaks


CHOSEN = "arguments = TrainingArguments('out', {})\n"


@pytest.mark.parametrize(
    ("arguments", "is_program", "speaks"),
    [
        ("fsdp='full_shard'", True, False),
        # It is a part of programs that may choose differently: the file next to it uses DDP.
        ("fsdp='full_shard'", False, True),
        ("bf16=True", True, True),
    ],
)
@pytest.mark.parametrize("launch", ["", "torchrun other.py\n"])
def test_a_program_that_asks_for_fsdp_itself(arguments, is_program, speaks, launch, tmp_path):
    (tmp_path / "run.sh").write_text(launch, encoding="utf-8")
    (tmp_path / "other.py").write_text("model = DistributedDataParallel(model)\n", encoding="utf-8")
    script = tmp_path / "train.py"
    text = step("model.generate(**inputs)") + CHOSEN.format(arguments)
    script.write_text(text + "if __name__ == '__main__':\n    main()\n" * is_program, encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL010"),))
    assert bool(linter.check(script, script.read_bytes())) is speaks


@pytest.mark.parametrize(
    ("name", "text", "speaks"),
    [
        ("engine.py", "model = deepspeed.initialize(model)\n", True),
        ("engine.py", "FullyShardedDataParallel(model)\n", True),
        ("accelerate.yaml", "distributed_type: DEEPSPEED\n", False),
        ("accelerate.yaml", "distributed_type: MULTI_GPU\n", True),
    ],
)
def test_code_that_knows_an_engine_leaves_the_choice_to_its_users(name, text, speaks, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    script = tmp_path / "trainer.py"
    script.write_text(step("model.generate(**inputs)"), encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL010"),))
    assert bool(linter.check(script, script.read_bytes())) is speaks


STARTS = '\n\nif __name__ == "__main__":\n    MyTrainer(load()).train()\n'
ONE_GPU = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n'


@pytest.mark.parametrize(
    ("name", "launch", "where", "by_default"),
    [
        ("prediction_step", "python train.py", "under DataParallel", True),
        ("prediction_step", "torchrun --nproc_per_node 8 train.py", "under DataParallel", False),
        ("compute_loss", "torchrun --nproc_per_node 8 train.py", "under DDP and DataParallel", True),
    ],
)
def test_a_model_that_is_evaluated_is_wrapped_on_several_gpus_of_one_process(name, launch, where, by_default, tmp_path):
    text = trainer(f"def {name}(self, model, inputs):\n    return model.generate(**inputs)") + STARTS
    (found,) = findings_in(tmp_path, {"run.sh": f"{launch}\n", "train.py": text}, "train.py", "TRL010")
    assert found.message.endswith(where) and found.by_default is by_default


@pytest.mark.parametrize(("launch", "speaks"), [("", False), ("torchrun --nproc_per_node 8 train.py", True)])
def test_a_program_that_makes_one_gpu_visible_wraps_nothing(launch, speaks, tmp_path):
    text = ONE_GPU + trainer("def compute_loss(self, model, inputs):\n    return model.generate(**inputs)") + STARTS
    found = findings_in(tmp_path, {"run.sh": f"{launch}\n", "train.py": text}, "train.py", "TRL010")
    assert bool(found) is speaks
