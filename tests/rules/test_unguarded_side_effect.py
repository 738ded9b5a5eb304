"""TRL008: which writes conflict, and which are limited to one process or use a separate place for each."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent

import pytest
from small_projects import found, written
from snippets import SETTINGS, Snippets, loop, shown, trainer

from trl_lint.findings import Consequence
from trl_lint.linter.files.discovery import import_roots
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

SNIPPETS = Snippets("TRL008")


IMPORTS = """\
import os
import shutil
import sys
import trackio
from torch.utils.tensorboard import SummaryWriter
from transformers import AutoConfig, AutoTokenizer
"""


def places(body: str) -> list[str]:
    return SNIPPETS.places(IMPORTS + loop(body))


@pytest.mark.parametrize(
    "call",
    [
        'wandb.log({"x": 1})',
        'wandb.config.update({"x": 1})',
        'open("losses.txt", "w")',
        'open("losses.txt", mode="a")',
        'torch.save(loss, "loss.pt")',
        'os.makedirs("samples")',
        'os.remove("samples")',
        'shutil.rmtree("samples")',
        'accelerator.unwrap_model(model).save_pretrained("best")',
        'wandb.init(project="x")',
        'wandb.init(project="x", mode="offline")',
        'wandb.init(project="x", mode=args.wandb_mode)',
        'wandb.init(project="x", mode=None)',
        'wandb.init(project="x", settings=wandb.Settings(start_method="fork"))',
        'wandb.init(project="x", settings=Settings(console="off", silent=True))',
        'wandb.init(project="x", mode="online", group="all", name="best")',
        'wandb.init(project="x", name=f"sft_{wandb.util.generate_id()}")',
        'trackio.init(project="x")',
        'SummaryWriter("logs")',
        'SummaryWriter(comment="x")',
        'AutoTokenizer.from_pretrained("a").save_pretrained("best")',
        'accelerator.unwrap_model(model).config.save_pretrained("best")',
        'AutoConfig.from_pretrained("a").push_to_hub("best")',
    ],
)
def test_what_all_processes_do_to_the_same_thing(call):
    assert places(call) == [call]


@pytest.mark.parametrize(("release", "is_there"), [("1.12.0", True), ("1.13.0", False)])
def test_a_call_counts_in_the_releases_that_have_it(release, is_there):
    snippets = Snippets("TRL008", replace(SETTINGS, target_trl=release))
    text = "from trl.trainer.utils import print_rich_table\n" + loop("print_rich_table(table)")
    assert bool(snippets.findings(text)) is is_there


def test_a_run_that_is_there_is_no_guard():
    assert places('if wandb.run is not None:\n    wandb.log({"x": 1})') == ['wandb.log({"x": 1})']
    assert places('run = wandb.run\nif not run is None:\n    wandb.log({"x": 1})') == ['wandb.log({"x": 1})']
    assert places('if has_lock():\n    wandb.log({"x": 1})') == []


def test_a_run_is_as_a_rule_the_main_processes_own():
    """A Trainer's callback starts it there: findings on what all processes with a run do are reported on request."""
    text = """
        def log(self, logs, start_time=None):
            if wandb.run is not None:
                wandb.log(logs)
    """
    finding = SNIPPETS.finding("import wandb\n" + trainer(text))
    assert (finding.by_default, finding.consequence) == (False, Consequence.WASTE)
    assert "runs on all processes with an active run" in finding.message
    finding = SNIPPETS.finding("import wandb\n" + trainer(text.replace("wandb.run is not None", "True")))
    assert (finding.by_default, finding.consequence) == (True, Consequence.CRASH)


@pytest.mark.parametrize(("guard", "is_reported"), [("wandb.run is not None", False), ("True", True)])
def test_where_no_library_starts_a_run_the_code_has_started_it_on_the_rank_that_logs(guard, is_reported):
    text = f"""
import wandb
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

def train(model, loader):
    dist.init_process_group()
    model = DistributedDataParallel(model)
    for step, batch in enumerate(loader):
        model(batch).sum().backward()
        if {guard}:
            wandb.log({{"step": step}})

if __name__ == "__main__":
    train(Net(), DataLoader(rows))
"""
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("step % 10 == 0 and wandb.run is not None", True),
        ("wandb.run is not None and step and step % 10 == 0", True),
        ("step % 10 == 0 or wandb.run is not None", False),
        ("wandb.run is not None and unknown()", False),
        ("wandb.run is not None and accelerator.is_main_process", False),
    ],
)
def test_together_with_what_is_the_same_on_all_ranks_it_is_none_either(test, is_reported):
    assert bool(places(f'if {test}:\n    wandb.log({{"x": 1}})')) is is_reported


@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("accelerator.is_main_process or accelerator.distributed_type == DistributedType.DEEPSPEED", True),
        ("accelerator.is_main_process or use_fsdp", True),
        ("accelerator.is_main_process and use_fsdp", False),
        ("accelerator.is_main_process or args.debug", False),
        ("not (accelerator.is_main_process or use_fsdp)", False),
        ("args.clear or ask()", True),
        ("asked() or ask()", False),
        ("args.clear and ask()", False),
    ],
)
def test_a_part_of_a_condition_that_lets_all_ranks_in(test, is_reported):
    body = f"if {test}:\n    os.remove('samples')"
    assert places(body) == ["os.remove('samples')"] * is_reported
    assert places(f"if {test}:\n    print()\nelse:\n    os.remove('samples')") == []
    assert places(f"if {test}:\n    continue\nos.remove('samples')") == []


def test_a_finding_says_under_which_condition_all_ranks_come():
    text = "import os\n" + loop("if accelerator.is_main_process or use_fsdp:\n    os.remove('samples')")
    assert SNIPPETS.finding(text).message == (
        "`os.remove` runs on all processes where `use_fsdp` holds: "
        "each of them removes the same file, and all but the first fail"
    )


@pytest.mark.parametrize(
    ("test", "leaves", "is_reported"),
    [
        ("batch is None", "break", True),
        ("next_one() is False", "break", True),
        ("not chosen()", "continue", False),
        ("not chosen()", "return", False),
        ("not accelerator.is_main_process", "break", False),
    ],
)
def test_the_end_of_a_loop_is_no_guard(test, leaves, is_reported):
    text = (
        "import os\nfrom accelerate import Accelerator\n\ndef main():\n    accelerator = Accelerator()\n"
        f"    while True:\n        batch = draw()\n        if {test}:\n            {leaves}\n"
        "        os.remove('samples')\n\nmain()\n"
    )
    assert bool(SNIPPETS.findings(text)) is is_reported


def test_what_waits_for_errors_of_the_whole_program_is_no_guard():
    text = "import os\nfrom accelerate import Accelerator\n\ndef main():\n    Accelerator()\n    os.remove('x')\n\n"
    whole = text + "try:\n    main()\nexcept KeyboardInterrupt:\n    print('bye')\n"
    assert len(SNIPPETS.findings(whole)) == 1
    forgiving = text.replace(
        "    os.remove('x')", "    try:\n        os.remove('x')\n    except OSError:\n        pass"
    )
    assert SNIPPETS.findings(forgiving + "main()\n") == []


BUILT = """\
from pathlib import Path
from shutil import rmtree
from accelerate import Accelerator

class Trains:
    def __init__(self, net, results_folder="./results", clear=None, is_main=None, other=None):
        self.accelerator = {made}
        if {test}:
            rmtree(str(Path(results_folder)))
"""


@pytest.mark.parametrize(
    ("test", "made", "is_reported"),
    [
        ("clear is True or ask()", "Accelerator()", True),
        ("clear is True", "Accelerator()", True),
        ("clear is True", "None", False),
        ("is_main is True", "Accelerator()", False),
        ("other or ask()", "Accelerator()", False),
        ("ask()", "Accelerator()", False),
    ],
)
def test_a_flag_that_a_program_is_built_with_is_a_setting(test, made, is_reported):
    assert bool(SNIPPETS.findings(BUILT.format(test=test, made=made))) is is_reported


NAMED = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trains:
    def __init__(self, plans):
        self.output_folder = os.path.{made}

    def train(self):
        self.network = DDP(torch.nn.Linear(2, 2), device_ids=[dist.get_rank()])
        torch.save(self.network.state_dict(), os.path.join(self.output_folder, "last.pt"))
"""


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("join(plans.base, plans.name)", True),
        ("abspath(plans.base)", True),
        ("join(plans.base, plans.rank_name)", False),
        ("getsize(plans.base)", False),
    ],
)
def test_a_folder_whose_name_says_that_it_is_shared_may_be_composed_of_what_nothing_is_known_of(made, is_reported):
    assert bool(SNIPPETS.findings(NAMED.format(made=made))) is is_reported


TRAINER = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Trains:
    def __init__(self, {parameter}):
        self.local_rank = dist.get_rank()
        self.folder = os.path.join("results", f"fold_{{fold}}")

    def initialize(self):
        self.network = {network}
        torch.save(self.network.state_dict(), os.path.join(self.folder, "first.pt"))
"""
WRAPPED = "DDP(torch.nn.Linear(2, 2), device_ids=[self.local_rank])"


@pytest.mark.parametrize(
    ("parameter", "network", "is_reported"),
    [
        ("fold: int", WRAPPED, True),
        ("fold=None", WRAPPED, True),
        ("fold", WRAPPED, False),
        ("fold: Shard", WRAPPED, False),
        ("fold: int", "torch.nn.Linear(2, 2)", False),
    ],
)
def test_what_a_trainer_gets_that_wraps_its_model_is_a_setting_if_it_is_a_text_or_a_number(
    parameter, network, is_reported
):
    assert bool(SNIPPETS.findings(TRAINER.format(parameter=parameter, network=network))) is is_reported


@pytest.mark.parametrize("name", ["device", "local_id", "shard"])
def test_a_number_that_may_be_the_rank_is_no_setting_of_a_trainer(name):
    text = TRAINER.replace("{{fold}}", f"{{{{{name}}}}}").format(parameter=f"{name}: int", network=WRAPPED)
    assert SNIPPETS.findings(text) == []


def test_a_finding_says_what_happens():
    text = "import os\n" + loop('os.makedirs("samples")')
    assert SNIPPETS.finding(text).message == (
        "`os.makedirs` runs on all processes: each of them creates the same folder, and all but the first fail"
    )


@pytest.mark.parametrize(
    "body",
    [
        'if accelerator.is_main_process:\n    wandb.log({"x": 1})',
        'if accelerator.process_index == 0 and step:\n    wandb.log({"x": 1})',
        'if not accelerator.is_local_main_process:\n    continue\nwandb.log({"x": 1})',
        'if unknown():\n    wandb.log({"x": 1})',
        'open("losses.txt")',
        'open(os.devnull if not isinstance(sys.stdout, str) else sys.stdout, "r")',
        'open(sys.stdout, "w")',
        'open(f"losses-{accelerator.process_index}.txt", "w")',
        'open(unknown_path(), "w")',
        'os.makedirs("samples", exist_ok=True)',
        'shutil.rmtree("samples", ignore_errors=True)',
        'accelerator.save(loss, "loss.pt")',
        'wandb.init(project="x", group="all")',
        'wandb.init(project="x", group="all", name=f"sft_{wandb.util.generate_id()}")',
        'wandb.init(project="x", name=f"rank{accelerator.process_index}")',
        'wandb.init(project="x", mode="disabled")',
        'wandb.init(project="x", mode="shared")',
        'wandb.init(project="x", settings=wandb.Settings(mode="shared", start_method="fork"))',
        'wandb.init(project="x", settings=wandb.Settings(**options))',
        'wandb.init(project="x", settings=own_settings())',
        'wandb.init(project="x", mode="offline", group="all")',
        'wandb.init(project="x", mode="online" if accelerator.is_main_process else "disabled")',
        'wandb.init(project="x", mode="online" if is_first(accelerator) else "disabled")',
        'mode = args.wandb_mode\nif accelerator.process_index > 0:\n    mode = "disabled"\nwandb.init(mode=mode)',
        'wandb.init(project="x", mode=["online", "disabled"][unknown()])',
        'mode = args.wandb_mode\nif not is_first():\n    mode = "disabled"\nwandb.init(mode=mode)',
        'wandb.init(project="x", mode=mode_of_rank())',
        'if accelerator.is_main_process:\n    wandb.init(project="x")',
        'if accelerator.is_main_process:\n    wandb.config.update({"x": 1})',
        'config.update({"x": 1})',
        'SummaryWriter(f"logs/{accelerator.process_index}")',
        "SummaryWriter(unknown())",
        'writer = SummaryWriter("logs") if accelerator.is_main_process else None',
        'if accelerator.is_main_process:\n    AutoTokenizer.from_pretrained("a").save_pretrained("best")',
        'accelerator.log({"x": 1})',
        'accelerator.unwrap_model(model).save_pretrained("best", is_main_process=accelerator.is_main_process)',
    ],
)
def test_what_does_not_clash(body):
    assert places(body) == []


GIVEN = """\
from {library} import {name}
import json

def rate({parameters}, **kwargs):
    with open("{file}", "a") as file:
        json.dump([], file)
    return {result}

def main(model, args):
    {name}(model=model, args=args, {given}=rate).train()
"""


@pytest.mark.parametrize(
    ("library", "name", "parameters", "given"),
    [("trl", "GRPOTrainer", "completions", "reward_funcs"), ("transformers", "Trainer", "pred", "compute_metrics")],
)
def test_functions_that_a_trainer_is_given_are_run_by_all(library, name, parameters, given):
    text = GIVEN.format(library=library, name=name, parameters=parameters, given=given, file="x.json", result="[]")
    finding = SNIPPETS.finding(text)
    assert finding.message == "`open` runs on all processes: each of them appends to the same file"
    assert finding.help == "do it on the main process only: `if PartialState().is_main_process:`"
    guarded = text.replace("    with open", "    if PartialState().is_main_process and open").replace(" as file:", ":")
    assert SNIPPETS.findings("from accelerate import PartialState\n" + guarded) == []


@pytest.mark.parametrize(
    ("init", "arguments", "is_there"),
    [
        ("", '"m", rate', True),
        ("", '"m", [rate]', True),
        # In the place of the settings.
        ("", '"m", [], rate', False),
        ("def __init__(self, model, shown, rewards): super().__init__(model, rewards)", '"m", rate, []', False),
        (
            "def __init__(self, model, shown, **given): super().__init__(model, **given)",
            '"m", 0, reward_funcs=rate',
            True,
        ),
    ],
)
def test_reward_functions_come_second_without_their_name(init, arguments, is_there):
    given = GIVEN.format(
        library="trl", name="GRPOTrainer", parameters="completions", given="reward_funcs", file="x.json", result="[]"
    )
    text = (
        given.partition("def main")[0]
        + f"class Mine(GRPOTrainer):\n    {init or 'pass'}\n\nMine({arguments}).train()\n"
    )
    assert len(SNIPPETS.findings(text)) == is_there
    if not init:
        assert len(SNIPPETS.findings(text.replace('Mine("m"', 'GRPOTrainer("m"'))) == is_there


DECORATED = """\
import functools
import json
from accelerate import PartialState
from trl import GRPOTrainer

def kept(function):
    @functools.wraps(function)
    def inner(prompts, completions, **columns):
        scores = function(prompts, completions, **columns)
        {guard}
            json.dump(scores, open({path}, "w"))
        return scores
    return inner

@{decorator}
def rate(prompts, completions, **columns):
    return [len(each) for each in completions]

GRPOTrainer("m", {given}).train()
"""


@pytest.mark.parametrize(
    ("decorator", "guard", "path", "given", "is_there"),
    [
        ("kept", "if True:", '"x.json"', "reward_funcs=[rate]", True),
        ("kept", "if PartialState().is_main_process:", '"x.json"', "reward_funcs=[rate]", False),
        ("kept", "if True:", 'f"{PartialState().process_index}.json"', "reward_funcs=[rate]", False),
        ("functools.wraps(print)", "if True:", '"x.json"', "reward_funcs=[rate]", False),
        ("kept", "if True:", '"x.json"', "reward_funcs=[]", False),
    ],
)
def test_a_decorator_of_a_function_that_a_trainer_is_given(decorator, guard, path, given, is_there):
    text = DECORATED.format(decorator=decorator, guard=guard, path=path, given=given)
    assert len(SNIPPETS.findings(text)) == is_there


def test_an_override_that_saves_is_asked_to_on_each_rank():
    text = trainer("""
        def save_model(self, output_dir=None, _internal_call=False):
            torch.save(self.model.state_dict(), "model.pt")
            self.processing_class.save_pretrained("out")
    """)
    assert [finding.start.line for finding in SNIPPETS.findings(text)] == [6, 7]
    assert SNIPPETS.findings(text.replace("def save_model", "def _save")) == []


SAVES_TRAINER = """\
from transformers import Trainer

def keep(trainer: Trainer, folder):
    state = trainer.model.state_dict()
{line}

def main(model, args, data):
    trainer = Trainer(model, args, train_dataset=data)
    trainer.train()
    keep(trainer, args.output_dir)
"""


@pytest.mark.parametrize(
    ("line", "is_told"),
    [
        ("    trainer._save(folder, state_dict=state)", True),
        ("    if trainer.args.should_save:\n        trainer._save(folder, state_dict=state)", False),
        ("    trainer._save(f'{folder}/{trainer.args.process_index}')", False),
        ("    trainer.save_model(folder)", False),  # it checks who saves
    ],
)
def test_what_a_trainer_leaves_to_its_callers_to_guard(line, is_told):
    text = SAVES_TRAINER.format(line=line)
    assert [shown(text, each).partition("(")[0] for each in SNIPPETS.findings(text)] == ["trainer._save"] * is_told


@pytest.mark.parametrize(
    ("caught", "is_told"),
    [
        ("except KeyboardInterrupt", True),  # a person stops all ranks
        ("except (KeyboardInterrupt, SystemExit) as stop", True),
        ("except Exception", True),  # as a rule nothing goes wrong
        ("except", True),
        ("except (KeyboardInterrupt, OSError)", False),  # the rank that makes a file may be the one that goes on
        ("except FileExistsError", False),
        ("except FileNotFoundError", True),  # a missing file is missing for all of them
        ("except (FileNotFoundError, FileExistsError)", False),
    ],
)
def test_what_is_tried(caught, is_told):
    text = loop(f"try:\n    torch.save(batch, 'last.pt')\n{caught}:\n    pass\n")
    assert len(SNIPPETS.findings(text)) == is_told


@pytest.mark.parametrize(
    ("first", "is_told"),
    [
        ("os.makedirs('out', exist_ok=True)", True),
        ("os.mkdir('lock')", False),
        ("pathlib.Path('lock').mkdir()", False),
        ("open('lock', 'x').close()", False),
        ("os.open('lock', os.O_CREAT | os.O_EXCL)", False),
        ("open('settings').close()", True),
    ],
)
def test_what_is_tried_after_something_that_only_the_first_rank_can_do(first, is_told):
    body = f"try:\n    {first}\n    torch.save(batch, 'last.pt')\nexcept Exception:\n    pass\n"
    found = SNIPPETS.findings("import os\nimport pathlib\n" + loop(body))
    assert sum("`torch.save`" in each.message for each in found) == is_told


@pytest.mark.parametrize(
    ("first", "is_told"),
    [
        ("os.remove('token')", False),
        ("os.rename('job', 'mine')", False),
        ("pathlib.Path('token').unlink()", False),
        ("shutil.move('job', 'mine')", False),
        ("open('settings').close()", True),
        ("print('saving')", True),
    ],
)
def test_a_missing_file_that_only_the_first_rank_finds(first, is_told):
    body = f"try:\n    {first}\n    torch.save(batch, 'last.pt')\nexcept FileNotFoundError:\n    pass\n"
    found = SNIPPETS.findings("import os\nimport pathlib\nimport shutil\n" + loop(body))
    assert sum("`torch.save`" in each.message for each in found) == is_told


@pytest.mark.parametrize(
    ("opened", "is_told"),
    [
        ("(args.folder / 'last.json').open('w')", True),
        ("(args.folder / 'parts' / f'{args.name}.json').open('w')", True),
        ("(args.folder / f'{accelerator.process_index}.json').open('w')", False),
        ("(args.folder / 'last.json').open()", False),
        ("(args.total / args.count).open('w')", False),  # nothing says that it is a path
    ],
)
def test_what_is_divided_by_a_text_is_a_path(opened, is_told):
    found = SNIPPETS.findings("import argparse\nargs = argparse.ArgumentParser().parse_args()\n" + loop(opened))
    assert sum("`open`" in each.message for each in found) == is_told


RETRIED = """\
import time
import torch
import torch.distributed as dist


def again(function, times=3):
    for attempt in range(times):
        try:
            return function()
        except ValueError:
            if attempt == times - 1:
                raise
            time.sleep(1)


def main(rows):
    dist.init_process_group("nccl")

    def write():
        {write}

    again(write)


main([])
"""


@pytest.mark.parametrize(
    ("write", "is_told"),
    [
        ("torch.save(rows, 'rows.pt')", True),
        ("if dist.get_rank() == 0:\n            torch.save(rows, 'rows.pt')", False),
    ],
)
def test_what_is_tried_again_in_a_loop(write, is_told):
    assert bool(SNIPPETS.findings(RETRIED.format(write=write))) is is_told


def test_an_override_hands_on_what_its_caller_guards():
    text = trainer("""
        def _save(self, output_dir=None, state_dict=None):
            super()._save(output_dir, state_dict)
            self.keep(output_dir)
            if self.args.process_index <= 0:
                print(output_dir)

        def keep(self, output_dir):
            print(output_dir)
    """)
    assert SNIPPETS.findings(text) == []
    everywhere = text.replace("def _save(self, output_dir=None", "def save_model(self, output_dir")
    assert len(SNIPPETS.findings(everywhere)) == 1


def test_a_guard_in_the_caller_counts():
    text = trainer("""
        def _write(self, path):
            with open(path, "w") as file:
                file.write("x")

        def log(self, logs, start_time=None):
            if self.args.should_log:
                self._write("logs.txt")
    """)
    assert SNIPPETS.findings(text) == []
    everywhere = text.replace("if self.args.should_log", "if self.args.logging_steps")
    assert shown(everywhere, SNIPPETS.finding(everywhere)) == 'open(path, "w")'


@pytest.mark.parametrize(
    ("where", "is_reported"),
    [
        ('"auto"', False),
        ('"balanced_low_0"', False),
        ('{"": accelerator.process_index}', True),
        ("None", True),
        ("unknown()", True),
    ],
)
def test_a_model_that_is_spread_over_all_gpus_is_trained_by_one_process(where, is_reported):
    text = (
        "import wandb\nfrom accelerate import Accelerator\nfrom transformers import AutoModelForCausalLM as Auto\n\n"
        f'accelerator = Accelerator()\nwhere = {where}\nmodel = Auto.from_pretrained("a/b", device_map=where)\n'
        'wandb.log({"x": 1})\n'
    )
    assert SNIPPETS.places(text) == ['wandb.log({"x": 1})'] * is_reported


@pytest.mark.parametrize(
    ("passed", "is_reported"),
    [
        ("", False),
        (", None", True),
        (', "auto" if args.local_rank == -1 else None', True),  # several processes have other numbers
        (", args.device_map", False),
    ],
)
def test_a_default_that_spreads_a_model_is_one_where_no_other_map_is_passed(passed, is_reported, tmp_path):
    (tmp_path / "loading.py").write_text(
        "from transformers import AutoModelForCausalLM as Auto\n\ndef load(name, device_map='auto'):\n"
        "    return Auto.from_pretrained(name, device_map=device_map)\n"
    )
    text = (
        "import argparse\nimport torch\nfrom accelerate import Accelerator\nfrom loading import load\n\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--local_rank', type=int, default=-1)\n"
        "parser.add_argument('--device_map', default='auto')\nargs = parser.parse_args()\n"
        f'accelerator = Accelerator()\nmodel = load("a/b"{passed})\ntorch.save({{"x": 1}}, "rows.pt")\n'
    )
    written(tmp_path, {"train.py": text, "pyproject.toml": ""})
    assert [code for _, _, code in found(tmp_path)] == ["TRL008"] * is_reported


def test_code_that_is_not_known_to_run_on_every_process_is_left_alone():
    text = 'import wandb\n\ndef show(table):\n    wandb.log({"table": table})\n'
    assert SNIPPETS.findings(text) == []


@pytest.mark.parametrize(
    ("call", "applicability"),
    [
        ('wandb.log({"x": 1})', "safe"),
        ('wandb.log({"rows": wandb.Table(data=[])})', "safe"),
        ('wandb.log({"rows": frames.DataFrame([])})', "safe"),
        ('wandb.log({"rows": pd.DataFrame([])})', "unsafe"),  # it is unknown whose that is
        ('wandb.log({"x": measured(loss)})', "unsafe"),
        ('torch.save({}, "x.pt")', "unsafe"),
        ('torch.save(loss, "loss.pt")', "display"),  # each process has its own
        ('file = open("losses.txt", "w")', "display"),
        ('with open("losses.txt", "w") as file:\n    file.write("x")', "unsafe"),
        ('with open("losses.txt", "w") as file:\n    measured(file)', "display"),
    ],
)
def test_how_safe_a_guard_is(call, applicability):
    text = "import os\nimport pandas as frames\n" + loop(call)
    fix = SNIPPETS.finding(text).fix
    assert fix is not None and fix.applicability.value == applicability


@pytest.mark.parametrize(
    ("body", "is_own"),
    [
        ('torch.save(mask, "x.pt")', True),
        ('torch.save({"mask": mask, "loss": loss.item()}, "x.pt")', True),
        ('torch.save({"mask": mask, "model": model.state_dict()}, "x.pt")', False),
        ('torch.save({"mask": mask, "step": step}, "x.pt")', False),
        ('torch.save({}, "x.pt")', False),
        ('torch.save(accelerator.gather(mask), "x.pt")', False),
        ('mask.to_csv("x.csv")', True),
        ('rows = frames.DataFrame([mask])\nrows.to_csv("x.csv")', True),
        ('frames.DataFrame([mask]).to_csv("x.csv")', True),
        ('frames.DataFrame([1]).to_csv("x.csv")', False),
        ('rows = frames.DataFrame([mask])\nrows = rows.merge(step)\nrows.to_csv("x.csv")', False),
        ('with open("x.json", "w") as file:\n    json.dump([mask], file)', True),
        ('with open("x.json", "w") as file:\n    json.dump([1], file)', False),
        ('with open("x.txt", "w") as file:\n    for row in mask:\n        file.write(f"{row}")', True),
        # What something unknown makes of each row; but not what it makes of all of them, or may have gathered.
        ('with open("x.json", "w") as file:\n    json.dump([made(row) for row in mask], file)', True),
        ('rows = [made(row) for row in mask]\ntorch.save({"rows": rows, "mask": mask}, "x.pt")', True),
        ('rows = []\nfor row in mask:\n    rows.append(made(row))\nframes.DataFrame(rows).to_csv("x.csv")', True),
        ('with open("x.txt", "w") as file:\n    for row in mask:\n        file.write(made(row))', True),
        ('rows = [made(row) for row in mask]\ntorch.save({"rows": rows, "model": model.state_dict()}, "x.pt")', False),
        ('torch.save(made(mask), "x.pt")', False),
        ('torch.save([made(row) for row in made(mask)], "x.pt")', False),
        ('torch.save([made(row) for row in names], "x.pt")', False),
        ('torch.save([all_reduce_mean(row) for row in mask], "x.pt")', False),
        ('rows = accelerator.gather(mask)\ntorch.save([made(row) for row in rows], "x.pt")', False),
        # A line in a log; and what is added to what others have written.
        ('with open("x.txt", "w") as file:\n    file.write(f"{loss}")', False),
        ('with open("x.txt", "a") as file:\n    for row in mask:\n        file.write(f"{row}")', False),
    ],
)
def test_data_that_each_process_has_is_not_for_one_rank_to_write(body, is_own):
    finding = SNIPPETS.finding("import json\nimport pandas as frames\n" + loop(body))
    assert ("with data of its own" in finding.message) is is_own
    assert ("put the rank into the file's name" in finding.help) is is_own
    assert finding.fix is not None
    assert (finding.fix.applicability.value == "display") is is_own


@pytest.mark.parametrize(
    ("body", "is_same"),
    [
        ('torch.save(accelerator.gather(mask), "x.pt")', True),
        ('frames.DataFrame(Trainer(model).predict(loader).predictions).to_parquet("x.parquet")', True),
        ('rows = frames.DataFrame([accelerator.gather(mask), 1])\nrows.to_csv("x.csv")', True),
        ('with open("x.json", "w") as file:\n    json.dump({"step": 1}, file)', True),
        ('with open("x.json", "w") as file:\n    json.dump(1, file)\n    json.dump(mask, file)', False),
        ('frames.DataFrame([unknown(step)]).to_csv("x.csv")', False),
        ('torch.save({}, "x.pt")', False),  # it may be filled where nobody sees it
        # Each rank may have a part of these, statistics or times of its own.
        ('torch.save(accelerator.unwrap_model(model).state_dict(), "x.pt")', False),
        ('torch.save({"step": 1, "optimizer": optimizer.state_dict()}, "x.pt")', False),
        ('torch.save(Trainer(model).predict(loader).metrics, "x.pt")', False),
    ],
)
def test_it_is_told_where_all_write_the_same(body, is_same):
    finding = SNIPPETS.finding("import json\nimport pandas as frames\nfrom transformers import Trainer\n" + loop(body))
    content = ", with the same content," if is_same else ""
    assert finding.message.endswith(f"writes the same file{content} at the same time, which may damage it")


@pytest.mark.parametrize(
    ("written", "does"),
    [
        ('rows.to_csv("x.csv", mode="a")', ""),  # each process adds its rows to those of the others
        ('rows.to_json("x.json", lines=True, orient="records", mode="a")', ""),
        (
            'rows.to_csv("x.csv", mode="w")',
            "writes the same file, with data of its own, and only those of the last one remain",
        ),
        ('rows.to_parquet("x.parquet", mode="a")', "writes the same file, with data of its own"),  # has no such mode
        ('frames.DataFrame([1]).to_csv("x.csv", mode="a")', "appends to the same file"),
        ('frames.DataFrame([[step, mask]]).to_csv("x.csv", mode="a")', "appends to the same file"),  # a line of a log
    ],
)
def test_a_table_of_own_rows_may_be_added_to_a_file(written, does):
    text = "import pandas as frames\n" + loop(f"rows = frames.DataFrame([mask])\n{written}")
    found = [each.message.partition("each of them ")[2] for each in SNIPPETS.findings(text)]
    assert [each[: len(does)] for each in found] == [does] * bool(does)


def reason(text):
    fix = SNIPPETS.finding(text).fix
    assert fix is not None
    return fix.reason


@pytest.mark.parametrize(
    ("call", "made"),
    [
        ('os.makedirs("samples")', 'os.makedirs("samples", exist_ok=True)'),
        ('os.makedirs("samples", exist_ok=False)', 'os.makedirs("samples", exist_ok=True)'),
        ('Path("samples").mkdir(parents=True)', 'Path("samples").mkdir(parents=True, exist_ok=True)'),
        ('Path("samples").mkdir()', 'Path("samples").mkdir(exist_ok=True)'),
        ('if step == 3: os.makedirs("samples")', 'if step == 3: os.makedirs("samples", exist_ok=True)'),
    ],
)
def test_a_folder_is_made_by_all_ranks(call, made):
    """The other ranks may need it at once."""
    text = "import os\nfrom pathlib import Path\n" + loop(call)
    fix = SNIPPETS.finding(text).fix
    assert (fix.applicability.value, fix.title) == ("unsafe", "Let all ranks create it")
    assert SNIPPETS.mended(text, unsafe=True) == text.replace(call, made)


def test_a_folder_whose_arguments_are_not_plain_is_left_alone():
    assert "`exist_ok` may be given by its position" in reason("import os\n" + loop('os.makedirs("x", 0o777, False)'))


@pytest.mark.parametrize(
    ("after", "is_read"),
    [
        ("mask = torch.load(path)", True),
        ('mask = torch.load(path, map_location="cpu")', True),
        ("model = model.from_pretrained(path)", True),
        ('if best:\n    shutil.copyfile(path, "best.pt")', True),
        ("print(path)", False),
        ('mask.save(path + "2")', False),
        ("mask = torch.load(other_path())", False),
    ],
)
def test_what_is_read_again_is_not_written_by_one_rank(after, is_read):
    text = loop(f'path = "x.pt"\ntorch.save(model, path)\n{after}')
    assert ("it is read again" in reason(text)) is is_read


@pytest.mark.parametrize(("mode", "is_read"), [("a+", True), ("a", False)])
def test_a_file_that_is_only_added_to_is_not_read(mode, is_read):
    text = loop(f'path = "x.txt"\nwith open(path, "w") as file:\n    file.write("start")\nend(open(path, "{mode}"))')
    assert ("wait_for_everyone()" in SNIPPETS.mended(text, unsafe=True)) is is_read


def test_a_blank_line_below_a_block_that_moves_keeps_its_blanks():
    block = '        with open("x.txt", "w") as file:\n            file.write("start")\n'
    text = loop("pass").rstrip() + f"\n{block}            \n        show()\n"
    guarded = "        if accelerator.is_main_process:\n" + indent(block, "    ")
    assert SNIPPETS.mended(text, unsafe=True) == text.replace(block, guarded)


def test_what_is_read_again_is_waited_for():
    body = 'path = "x.pt"\ntorch.save(model, path)\nmask = torch.load(path)'
    guarded = "if accelerator.is_main_process:\n            torch.save(model, path)\n        "
    fixed = SNIPPETS.mended(loop(body), unsafe=True)
    assert f"{guarded}accelerator.wait_for_everyone()\n        mask = torch.load(path)\n" in fixed
    assert SNIPPETS.mended(loop(body)) == loop(body)
    some = "import os\n" + loop(body.replace("torch.save", "if not os.path.exists(path):\n    torch.save"))
    assert "it is read again" in reason(some)
    assert SNIPPETS.mended(some, unsafe=True) == some  # not all processes would reach the barrier


@pytest.mark.parametrize(
    ("before", "is_left"),
    [
        ('mask = torch.load("x.pt")', True),
        ('if step > 1:\n    mask = torch.load("x.pt")\nelse:\n    mask = None', True),
        ('mask = torch.load("x.pt")\naccelerator.wait_for_everyone()', False),
        ('mask = torch.load("x.pt")\nmask = accelerator.gather(mask)', False),
        ('mask = torch.load("y.pt")', False),
        ('os.path.exists("x.pt")', False),
        ('with open("x.pt", "wb") as file:\n    file.write(b"0")', False),
    ],
)
def test_what_others_may_still_read_is_not_written_by_one_rank(before, is_left):
    text = "import os\n" + loop(f'{before}\ntorch.save(mask, "x.pt")')
    (found,) = (each for each in SNIPPETS.findings(text) if shown(text, each).startswith("torch.save"))
    assert found.fix is not None
    assert ("it is read just before" in found.fix.reason) is is_left


@pytest.mark.parametrize(
    ("before", "is_left"),
    [
        ("if path.exists():\n    shutil.rmtree(path)", True),
        ("shutil.rmtree(path, ignore_errors=True)", True),
        ("if path.exists():\n    shutil.rmtree(path)\naccelerator.wait_for_everyone()", False),
        ("if accelerator.is_main_process and path.exists():\n    shutil.rmtree(path)", False),
        ("if path.exists():\n    shutil.rmtree(other)", False),
        # It is fixed itself.
        ("shutil.rmtree(path)", False),
    ],
)
def test_what_others_may_still_remove_is_not_written_by_one_rank(before, is_left):
    text = "import shutil\nfrom pathlib import Path\npath = Path('best')\n" + loop(
        f"{before}\nshutil.copytree('last', path)"
    )
    (found,) = (each for each in SNIPPETS.findings(text) if shown(text, each).startswith("shutil.copytree"))
    assert found.fix is not None
    assert ("is removed just before" in found.fix.reason) is is_left


@pytest.mark.parametrize(
    ("call", "is_left"),
    [
        ('unwrapped.save_pretrained("x")', True),
        ('torch.save(unwrapped.state_dict(), "x.pt")', True),
        ('state = {"model": unwrapped.state_dict()}\ntorch.save(state, "x.pt")', True),
        ('tokenizer.save_pretrained("x")', False),
        ('state = accelerator.get_state_dict(model)\ntorch.save(state, "x.pt")', False),
    ],
)
@pytest.mark.parametrize("engine", ["ddp", "deepspeed", "deepspeed-zero3", "fsdp"])
def test_weights_that_all_ranks_have_a_part_of_are_not_saved_by_one(call, is_left, engine):
    snippets = Snippets("TRL008", replace(SETTINGS, engines=(engine,)))
    finding = snippets.finding(loop(f"unwrapped = accelerator.unwrap_model(model)\n{call}"))
    is_left = is_left and engine in ("deepspeed-zero3", "fsdp")
    assert finding.fix is not None
    assert ("each process has a part only" in finding.fix.reason) is is_left
    assert ("gathered" in finding.help) is is_left


def test_a_file_of_settings_that_is_named_shows_the_engine(tmp_path):
    text = """\
from transformers import AutoModel, Trainer, TrainingArguments

model = AutoModel.from_pretrained("base")
trainer = Trainer(model, TrainingArguments("out", deepspeed="zero.json"), train_dataset=rows)
trainer.train()
model.save_pretrained("out/last")
"""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "train.py").write_text(text)
    for stage, is_left in ((2, False), (3, True)):
        (tmp_path / "zero.json").write_text(f'{{"zero_optimization": {{"stage": {stage}}}}}\n')
        linter = Linter(replace(SETTINGS, root=tmp_path), import_roots(tmp_path, [tmp_path]), (find_rule("TRL008"),))
        (finding,) = linter.check(tmp_path / "train.py", text.encode())
        assert finding.fix is not None
        assert (
            "under DeepSpeed ZeRO-3 (see `zero.json`) each process has a part only" in finding.fix.reason
        ) is is_left


@pytest.mark.parametrize(
    ("body", "is_left"),
    [
        ("    due = True\n    switch.unlink()", True),
        ("    switch.unlink()", False),
        ("    switch.unlink()\n    print(1)", False),
    ],
)
def test_what_else_is_done_where_a_file_is_there_is_not_for_one_rank(body, is_left):
    text = "from pathlib import Path\n" + loop(f'switch = Path("switch")\nif switch.exists():\n{body}')
    assert ("the condition tests for it" in reason(text)) is is_left


@pytest.mark.parametrize(
    ("before", "guard"),
    [
        ("", "self.is_world_process_zero()"),
        ("print(self.accelerator.device)\n    ", "self.accelerator.is_main_process"),
    ],
)
def test_a_trainer_says_itself_which_process_this_is(before, guard):
    """It did before it had an accelerator; in a file that uses an accelerator, the guard is like the file's others."""
    text = trainer(f'def training_step(self, model, inputs):\n    {before}torch.save(model, "x.pt")')
    assert f'        if {guard}:\n            torch.save(model, "x.pt")\n' in SNIPPETS.mended(text, unsafe=True)


@pytest.mark.parametrize("test", ["not os.path.exists(path / 'x.bin')", "not (path / 'x.bin').exists()"])
def test_a_path_with_parentheses_is_the_same(test):
    text = "import os\nfrom pathlib import Path\n" + loop(
        f"path = Path('a')\nif {test}:\n    rows = model.cpu()\n    torch.save(rows, path / 'x.bin')"
    )
    assert "the condition tests for it" in reason(text)


@pytest.mark.parametrize(
    ("before", "guard"), [("", "job.is_world_process_zero()"), ("print(job.accelerator)\n    ", "")]
)
def test_a_trainer_that_a_script_has_says_it_too(before, guard):
    """It can in every release; the Trainer of TRL's first releases for PPO was none of transformers'."""
    text = (
        "import torch\nfrom transformers import Trainer\n\n\nclass Job(Trainer):\n    pass\n\n\n"
        "def main(model, args):\n"
        f"    job = Job(model, args)\n    job.train()\n    {before}torch.save(model, 'x.pt')\n\n\nmain(model, args)\n"
    )
    guarded = f"    if {guard or 'job.accelerator.is_main_process'}:\n        torch.save(model, 'x.pt')\n"
    assert guarded in SNIPPETS.mended(text, unsafe=True)


@pytest.mark.parametrize(
    ("head", "mended"),
    [
        ("if args.wandb:", "if args.wandb and accelerator.is_main_process:"),
        ("if args.wandb or args.all:", "if (args.wandb or args.all) and accelerator.is_main_process:"),
        ("if args.wandb and args.all:", "if args.wandb and args.all and accelerator.is_main_process:"),
        ("if (args.wandb or args.all):", "if (args.wandb or args.all) and accelerator.is_main_process:"),
        ("if 1 if args.a else args.b:", "if (1 if args.a else args.b) and accelerator.is_main_process:"),
        ("if args.no:\n    pass\nelif args.wandb:", "elif args.wandb and accelerator.is_main_process:"),
        ("if args.wandb:\n    pass\nelse:", None),
        ("if args.wandb:\n    print()", None),
        ("if args.wandb[\n    0\n]:", None),
        (f"if args.{'a' * 50}:", None),
        ("for _ in range(3):", None),
    ],
)
def test_a_guard_becomes_a_part_of_the_condition_around_it(head, mended):
    body = f'{head}\n    wandb.init(project="x")'
    text = loop(body)
    fixed = SNIPPETS.mended(text, unsafe=True)
    if mended is None:
        assert "if accelerator.is_main_process:\n" in fixed
    else:
        assert fixed == text.replace(head.splitlines()[-1], mended)


def test_the_condition_for_the_main_process_has_an_else_beside_it():
    text = loop('if args.wandb:\n    wandb.init(project="x")\nelse:\n    print()')
    assert "    if accelerator.is_main_process:\n" in SNIPPETS.mended(text, unsafe=True)


def test_a_condition_that_asks_for_a_tracker_asks_for_no_file():
    text = loop('if args.tracker == "wandb":\n    import wandb\n    wandb.init(project="x")')
    assert "    if accelerator.is_main_process:" in SNIPPETS.mended(text, unsafe=True)


@pytest.mark.parametrize("unit", ["  ", "    ", "\t"])
def test_a_block_that_a_fix_makes_is_indented_as_the_one_around_it(unit: str) -> None:
    first = "def mean(values):\n    return sum(values) / len(values)\n\n\n"
    text = first + loop('torch.save(model, "x.pt")').replace("    ", unit)
    guarded = f'{unit * 2}if accelerator.is_main_process:\n{unit * 3}torch.save(model, "x.pt")\n'
    assert guarded in SNIPPETS.mended(text, unsafe=True)


def test_a_guard_keeps_the_comments_and_is_put_there_once():
    text = "import os\n" + loop('# For a reader.\nwandb.log({"x": 1})  # one')
    fixed = SNIPPETS.mended(text)
    line = next(line for line in fixed.splitlines() if "is_main_process" in line)
    indent = line[: len(line) - len(line.lstrip())]
    guarded = f'{indent}# For a reader.\n{line}\n{indent}    wandb.log({{"x": 1}})  # one\n'
    assert guarded in fixed
    assert line.strip() == "if accelerator.is_main_process:"
    assert SNIPPETS.findings(fixed) == []


@pytest.mark.parametrize("guard", ["self.trainer.state.is_world_process_zero", "self.trainer.is_world_process_zero()"])
def test_a_trainer_that_a_callback_keeps_says_which_process_this_is(guard):
    text = f"""
import wandb
from transformers import TrainerCallback

class Callback(TrainerCallback):
    def __init__(self, trainer):
        self.trainer = trainer

    def on_step_end(self, args, state, control, **kwargs):
        if not {guard}:
            return
        self.show(state.global_step)

    def show(self, step):
        if wandb.run is not None:
            wandb.log({{"step": step}})
"""
    assert SNIPPETS.findings(text) == []
    assert len(SNIPPETS.findings(text.replace(f"not {guard}", "self.trainer.args.quiet"))) == 1


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ('for name in os.listdir("out"):\n    shutil.rmtree(os.path.join("out", name))', True),
        ('for path in sorted(glob.glob("out/*"))[:2]:\n    os.remove(path)', True),
        ('names = [x for x in os.listdir("out") if x]\nif len(names) > 3:\n    os.remove(names[0])', True),
        ('for name in os.listdir(f"out/{accelerator.process_index}"):\n    os.remove(name)', False),
        ('for name in os.listdir(unknown()):\n    os.remove(os.path.join("out", name))', False),
        ('for name in os.listdir("out")[accelerator.process_index :: 8]:\n    os.remove(name)', False),
        ('for path in glob.glob(f"out/{step}*"):\n    os.remove(f"{path}.{accelerator.process_index}")', False),
        ('if os.path.exists("out"):\n    shutil.rmtree("out")', True),
        ('if not os.path.exists("out"):\n    torch.save(1, "out")', True),
        ('there = os.path.exists("out")\nif not there:\n    torch.save(1, "out")', False),
        ('there = os.path.exists("out")\nif there:\n    shutil.rmtree("out")', True),
        ('if os.path.isfile("a") and not os.path.exists("b"):\n    os.rename("a", "b")', True),
        ('with accelerator.main_process_first():\n    if os.path.exists("a"):\n        os.remove("a")', False),
        ('if accelerator.is_main_process and os.path.exists("out"):\n    shutil.rmtree("out")', False),
    ],
)
def test_files_that_all_ranks_find(body, is_reported):
    assert bool(places(f"import glob\n{body}")) is is_reported


@pytest.mark.parametrize(
    ("name", "is_reported"),
    [
        ('time.strftime("%H-%M-%S")', True),
        ('f"out-{datetime.now().strftime(form)}"', True),
        ('f"out-{datetime.now().strftime(form)}-{accelerator.process_index}"', False),
        ('f"out-{args.name}-{datetime.now().strftime(form)}"', True),
        ('f"out-{unknown()}-{datetime.now().strftime(form)}"', False),
        ('datetime.now().strftime("%H-%M-%S-%f")', False),
        ("datetime.fromtimestamp(time.time()).strftime(form)", True),
        ("datetime.utcfromtimestamp(time.time()).strftime(form)", True),
        ("datetime.fromtimestamp(time.time()).strftime(unknown())", False),
        ('datetime.fromtimestamp(time.time()).strftime("%H-%M-%S-%f")', False),
        ("f'{datetime.fromtimestamp(time.time())}'", False),
        ("f'{time.time_ns()}'", False),
        ("f'{datetime.now():%H-%M-%S}'", True),
        ("f'{datetime.now():%H-%M-%S-%f}'", False),
        ("f'{datetime.now():>40}'", False),
        ("f'{datetime.now():{form}}'", False),
        ("f'{datetime.now():%H-%M}-{time.time()}'", False),
        ('"out-{:%H-%M}".format(datetime.now())', True),
        ('"out-{}".format(datetime.now())', False),
        ('"out-{:%H-%M}-{}".format(datetime.now(), time.time())', False),
        ("time.ctime()", True),
        ("time.asctime(time.localtime())", True),
        ('f"{time.localtime().tm_hour}"', True),
        ('f"{datetime.now().hour}-{datetime.now().minute}"', True),
        ('f"{datetime.now().microsecond}"', False),
        ("str(datetime.now().date())", True),
        ("str(datetime.now().time())", False),
        ("datetime.now().replace(microsecond=0).isoformat()", True),
        ("datetime.now().replace(second=0).isoformat()", False),
        ('datetime.now().isoformat(timespec="seconds")', True),
        ('datetime.now().isoformat(timespec="milliseconds")', False),
        ("str(int(time.time()))", True),
        ("str(round(time.time()))", True),
        ("str(round(time.time(), 3))", False),
        ("str(int(time.time() * 1000))", False),
        ("str(int(datetime.now().timestamp()))", True),
        ('str(datetime.now()).split(".")[0]', True),
        ('str(datetime.now()).split(".")[1]', False),
        ("str(datetime.now())[:19]", True),
        ("str(datetime.now())[:-7]", True),
        ("str(datetime.now())[:-3]", False),
        ("str(time.time())[:19]", False),
    ],
)
def test_names_with_the_time_in_whole_seconds(name, is_reported):
    text = f'from datetime import datetime\nform = "%H-%M-%S"\nwith open({name}, "w") as file:\n    file.write("x")'
    assert bool(places(text)) is is_reported


NUMBERED = """
import os
import time
from accelerate import Accelerator

def unused(folder, own):
    number, name = 0, {}
    while os.path.exists(f"{{folder}}/{{name}}-{{number}}"):
        number += 1
    return f"{{folder}}/{{name}}-{{number}}"

def main(args):
    accelerator = Accelerator()
    os.makedirs(unused(args.output_dir, accelerator.process_index))
"""


@pytest.mark.parametrize(
    ("name", "is_reported"), [('time.strftime("%H-%M")', True), ("f\"{own}-{time.strftime('%H')}\"", False)]
)
def test_the_first_name_after_the_time_that_is_not_there(name, is_reported):
    assert bool(SNIPPETS.findings(NUMBERED.format(name))) is is_reported


def test_what_is_called_after_the_time_may_be_one_or_several():
    text = "import os\n" + loop('os.makedirs(time.strftime("%H-%M"))')
    assert SNIPPETS.finding(text).message == (
        "`os.makedirs` runs on all processes: each of them creates the same folder; if their clocks differ, each has "
        "one of its own"
    )


SETTINGS_ASKED = """
import os
from accelerate import Accelerator

def main(args, train_config):
    accelerator = Accelerator()
    if {}:
        {}
    os.remove("x")
"""


@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("args.only_generate", True),
        ("train_config.save and not args.lora.use or args.kind == 'x'", True),
        ("args.data is None", True),
        ("args.local_rank not in (-1, 0)", False),
        ("not args.is_first", False),
        ("args.gpu_id", False),
        ("args.chosen", False),  # the file sets it
        ("args.only_generate and unknown()", False),
        ("thing.only_generate", False),
    ],
)
@pytest.mark.parametrize("arm", ["return", "os.makedirs('x', exist_ok=True)"])
def test_an_exit_on_a_setting_lets_all_ranks_out(test, is_reported, arm):
    text = SETTINGS_ASKED.format(test, arm) + "\ndef start(args):\n    args.chosen = unknown()\n"
    assert bool(SNIPPETS.findings(text)) is (is_reported or arm != "return")


RESUMED = """
import os
import wandb
from accelerate import Accelerator

def main(args):
    accelerator = Accelerator()
    loader = accelerator.prepare(make_loader())
    global_step, best_of, loss = 0, 0, 0.0
    if args.resume:
        global_step = {}
        best_of = {}
    for batch in loader:
        global_step += 1
        loss += batch["x"].sum()
        if {}:
            wandb.log({{"images": make_images()}})
"""


@pytest.mark.parametrize("found", ['int(os.listdir("out")[-1].split("-")[1])', "int(last_checkpoint().split('-')[1])"])
@pytest.mark.parametrize(
    ("test", "is_reported"),
    [
        ("global_step % args.every == 0", True),
        ("(global_step + 1) % args.every == 0 and args.with_images", True),
        ("not global_step > 10", True),
        ("global_step % args.every == accelerator.process_index", False),
        ("global_step % args.every == 0 and accelerator.is_main_process", False),
        ("global_step % args.every == 0 and unknown()", False),
        ("global_step > loss", True),  # this may hold on several ranks
        ("global_step == best_of", False),
        ("best_of > 0", False),
        ("has_come(global_step)", False),
    ],
)
def test_a_training_that_goes_on_has_come_as_far_on_all_ranks(found, test, is_reported):
    assert bool(SNIPPETS.findings(RESUMED.format(found, found, test))) is is_reported


@pytest.mark.parametrize(
    ("put", "is_reported"),
    [
        ('args.chosen.split(",")', True),
        ("args.chosen.strip('/').lower()  # as it is written down", True),
        ("args.chosen.split(os.environ['RANK'])", False),
        ('choose(args.chosen.split(","))', False),
    ],
)
def test_a_setting_that_is_cut_into_parts_is_one(put, is_reported):
    text = SETTINGS_ASKED.format("args.chosen", "return") + f"\ndef start(args):\n    args.chosen = {put}\n"
    assert bool(SNIPPETS.findings(text)) is is_reported


CHANGED = """
import os
from accelerate import Accelerator

accelerator = Accelerator()
args = parse()
{}
if args.chosen is None:
    os.remove("x")
"""


@pytest.mark.parametrize(
    ("change", "is_reported"),
    [
        ("if args.debug:\n    args.chosen = None", True),
        ("args.chosen = args.name if args.debug else 3", True),
        ("if args.chosen == 'all':\n    args.chosen = args.name + '_' + args.kind", True),
        ("if args.debug:\n    args.chosen = None\nif args.chosen == 'x':\n    args.chosen = 'y'", True),
        ("if accelerator.process_index != 0:\n    args.chosen = None", False),
        ("if ask():\n    args.chosen = None", False),
        ("args.chosen = ask()", False),
        ("args.chosen = args.names[accelerator.process_index]", False),
        ("def change(args):\n    args.chosen = None", False),
        ("if args.debug:\n    args.chosen = None\ndef change(args):\n    args.chosen = ask()", False),
    ],
)
def test_a_setting_that_is_changed_in_the_same_way_on_all_ranks_is_one(change, is_reported):
    assert bool(SNIPPETS.findings(CHANGED.format(change))) is is_reported


def test_a_setting_that_is_changed_later_in_a_loop_may_not_be_one():
    body = "for name in args.names:\n    if args.chosen is None:\n        os.remove('x')\n    {}\n"
    text = CHANGED.format(body.format("name")).partition("if args.chosen is None:\n    os")[0]
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(text.replace("    name\n", "    args.chosen = ask(name)\n"))


OWN_CONFIG = """
import torch
import yaml
from accelerate import Accelerator

class Config{}:
    def __init__(self, path):
        self.values = {{}}
        for each in read(path):
            self.values.update(each)
        {}

    def __getitem__(self, key):
        if key in self.values:
            return self.values[key]
        return None

accelerator = Accelerator()
{} = Config("x.yaml")
torch.save({{}}, {}["out"])
"""


@pytest.mark.parametrize(
    ("base", "put", "name", "is_reported"),
    [
        ("", "self.values['name'] = 'x'", "config", True),
        ("", "self.values['out'] = read_name(self.values)", "config", False),  # the file sets it
        ("", "self.values['out'] = f'{local_rank}.pt'", "config", False),
        ("", "pass", "found", False),
        ("(Mapping)", "pass", "config", False),
    ],
)
def test_an_item_of_a_class_of_settings_is_one(base, put, name, is_reported):
    text = OWN_CONFIG.format(base, put, name, name).replace("import yaml", "from collections.abc import Mapping")
    assert bool(SNIPPETS.findings(text)) is is_reported


def test_what_the_programs_own_parser_gives_is_the_same_everywhere():
    text = "from transformers import HfArgumentParser\n" + SETTINGS_ASKED.format("parsed.x", "return")
    text = text.replace("    if", "    parser = HfArgumentParser(Own)\n    parsed = parser.parse_args()\n    if")
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(text.replace("parser.parse_args()", "parser.parse_args_into_dataclasses()[0]"))


@pytest.mark.parametrize(
    ("body", "mended"),
    [
        ('if not os.path.exists("out"):\n    os.makedirs("out")', 'os.makedirs("out", exist_ok=True)'),
        (
            "if not os.path.isdir(args.out):\n    os.makedirs(args.out, 0o755)",
            "os.makedirs(args.out, 0o755, exist_ok=True)",
        ),
        ('if not Path("out").exists():\n    Path("out").mkdir()', 'Path("out").mkdir(exist_ok=True)'),
        ('if not os.path.exists("out"):\n    os.mkdir("out")', ""),
    ],
)
def test_where_several_look_for_a_folder_at_once_one_of_them_may_make_it(body, mended, tmp_path):
    text = "import os\nfrom pathlib import Path\n" + loop(body)
    path = tmp_path / "train.py"
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL008"),))
    (finding,) = linter.check(path, text.encode())
    assert not finding.by_default
    assert finding.consequence is Consequence.RACE
    fixed = linter.fix(path, text.encode()).source.decode()
    assert (mended in fixed) if mended else (fixed == text)
    assert len(linter.check(path, fixed.encode())) == (not mended)


@pytest.mark.parametrize(
    "body",
    [
        'if not os.path.exists("out"):\n    os.makedirs("out", exist_ok=True)',
        'if accelerator.is_main_process and not os.path.exists("out"):\n    os.makedirs("out")',
        'name = f"out/{accelerator.process_index}"\nif not os.path.exists(name):\n    os.makedirs(name)',
        'with accelerator.main_process_first():\n    if not os.path.exists("out"):\n        os.makedirs("out")',
    ],
)
def test_what_makes_a_folder_once(body):
    assert places(body) == []


def test_what_is_written_to_a_file_that_an_object_keeps_is_for_its_methods_to_say():
    assert SNIPPETS.findings(loop('log = open("losses.txt", "a")'))
    assert not SNIPPETS.findings(loop('args.log = open("losses.txt", "a")'))
    assert SNIPPETS.findings(loop('args.log = open("losses.txt", "w")')), "that one empties it"


BATCH_SIZES = """\
from accelerate import Accelerator
from accelerate.utils import {decorator}


def main(data):
    accelerator = Accelerator()

    @{decorator}{given}
    def run(batch_size, path):
        data.start(batch_size)
        with open(path, "w") as file:
            file.write("x")

    run({path})
"""


@pytest.mark.parametrize(
    ("decorator", "given", "path", "is_reported"),
    [
        ("find_executable_batch_size", "(starting_batch_size=8)", '"x.txt"', True),
        ("find_executable_batch_size", "", 'path="x.txt"', True),
        ("find_executable_batch_size", "", 'f"{accelerator.process_index}.txt"', False),
        ("something_else", "", '8, "x.txt"', False),
    ],
)
def test_what_is_called_with_a_batch_size_that_fits_is_called_on_all_ranks(decorator, given, path, is_reported):
    text = BATCH_SIZES.format(decorator=decorator, given=given, path=path)
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("head", "is_reported"),
    [
        ("class Run(TrainerCallback):\n    def on_train_begin(self, args, state, control, **kwargs):\n", True),
        ("if True:\n    if PartialState().is_main_process:\n        wandb.init()\n    if True:\n", False),
        ("if PartialState() and args:\n    if wandb.init(settings=args):\n", False),
    ],
)
def test_a_program_that_starts_its_own_run_knows_on_which_ranks_it_has_one(head, is_reported):
    text = "import wandb\nfrom accelerate import PartialState\nfrom transformers import TrainerCallback\n\n"
    assert bool(SNIPPETS.findings(text + head + "        wandb.config.update({'x': 1})\n")) is is_reported


@pytest.mark.parametrize("names", ["isfile, join, save_json", "*"])
@pytest.mark.parametrize(("guard", "speaks"), [("isfile(path)", True), ("dist.get_rank() == 0", False)])
def test_functions_of_os_path_by_the_names_of_another_library(names: str, guard: str, speaks: bool):
    text = f"""\
import os

import torch.distributed as dist
from batchgenerators.utilities.file_and_folder_operations import {names}


def finish(args):
    dist.barrier()
    path = join(args.output_dir, "last.pth")
    if {guard}:
        os.remove(path)
        save_json({{}}, join(args.output_dir, "summary.json"))
"""
    assert [each.start.line for each in SNIPPETS.findings(text)] == ([11, 12] if speaks else [])


@pytest.mark.parametrize(
    ("base", "by_default"), [("TrainerCallback", True), ("ABC", False), ("Generic[T]", False), ("object", False)]
)
def test_a_base_that_calls_no_methods_makes_none_of_them_a_hook(base: str, by_default: bool):
    text = f"""\
from abc import ABC
from typing import Generic, TypeVar

import wandb
from transformers import TrainerCallback

T = TypeVar("T")


class Logging({base}):
    def on_step_end(self, args, state, control, **others):
        if state.is_world_process_zero:
            print(state)
        wandb.log({{"step": state.global_step}})
"""
    (finding,) = SNIPPETS.findings(text)
    assert (finding.consequence is not Consequence.WASTE) is by_default


@pytest.mark.parametrize(
    ("setting", "is_reported"),
    [
        ("preprocessing_only", True),
        ("is_train", True),
        ("is_main", False),
        ("image_processor", True),
        ("train_split_name", True),
        ("distil_only", True),
        ("domain", True),
        ("process_zero", False),
        ("num_proc", False),
        ("main", False),
        ("split", False),
        ("distributed", False),
    ],
)
def test_a_setting_about_the_data_is_no_question_for_the_rank(setting, is_reported):
    text = (
        "import os\nfrom accelerate import Accelerator\n\ndef main(args):\n    accelerator = Accelerator()\n"
        f'    if args.{setting}:\n        return\n    os.remove("x")\n'
    )
    assert SNIPPETS.places(text) == ['os.remove("x")'] * is_reported


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("diffusers.StableDiffusionPipeline.from_pretrained(path)", True),
        ("diffusers.DDPMPipeline(unet=net, scheduler=None).to(accelerator.device)", True),
        ("diffusers.pipeline_utils.some_helper(path)", False),
        ("somewhere.MyPipeline(net)", False),
    ],
)
def test_a_pipeline_of_diffusers_is_written_as_its_model_is(made, is_reported):
    text = (
        "import diffusers\nimport somewhere\nfrom accelerate import Accelerator\n\naccelerator = Accelerator()\n"
        f"pipeline = {made}\nunet = pipeline.unet\nimages = pipeline(prompt)\n"
    )
    assert (
        SNIPPETS.places(f'{text}pipeline.save_pretrained("out")\n') == ['pipeline.save_pretrained("out")'] * is_reported
    )
    assert SNIPPETS.findings(f'{text}if accelerator.is_main_process:\n    pipeline.save_pretrained("out")\n') == []


@pytest.mark.parametrize(
    ("condition", "is_reported"),
    [
        ("global_step % 10 == 0 or global_step == total_train_steps", True),
        ("global_step + 1 == max_steps", True),
        ("epoch == num_epochs - 1", True),
        ("which == total_train_steps", False),
        ("total_train_steps == max_steps", False),
        ("global_step == which", False),
    ],
)
def test_the_last_step_is_that_of_all_ranks(condition, is_reported):
    names = ("epoch", "global_step", "max_steps", "num_epochs", "total_train_steps", "which")
    text = (
        "import os\nimport somewhere\nfrom accelerate import Accelerator\n\naccelerator = Accelerator()\n"
        + "".join(f"{name} = somewhere.count({name!r})\n" for name in names)
        + f'if {condition}:\n    os.remove("x")\n'
    )
    assert SNIPPETS.places(text) == ['os.remove("x")'] * is_reported


@pytest.mark.parametrize(
    ("condition", "has_run"),
    [
        ("args.fast and args.names is None", False),
        ("args.fast and wandb.run is not None", True),
    ],
)
def test_a_setting_that_may_be_none_is_no_run(condition, has_run):
    text = (
        "import os\nimport wandb\nfrom accelerate import Accelerator\n\ndef main(args):\n"
        f'    accelerator = Accelerator()\n    if {condition}:\n        os.remove("x")\n'
    )
    assert ("with an active run" in SNIPPETS.finding(text).message) is has_run


@pytest.mark.parametrize(
    ("path", "is_reported"),
    [
        ('f"out/{global_step}.pt"', True),
        ('f"out/checkpoint-{self.step}.pt"', True),
        ('"out/" + str(global_step) + ".pt"', True),
        ('"out/{}-{:03d}.pt".format("x", global_step)', True),
        ('"out/{step}.pt".format(step=self.step)', True),
        ('"out/%d.pt" % global_step', True),
        ('"out/%s-%d.pt" % ("x", global_step)', True),
        ('"out/" + str(which) + ".pt"', False),
        ('"out/{}.pt".format(which)', False),
        ('"out/%s-%d.pt" % (which, global_step)', False),
        ('f"out/{which}.pt"', False),
        ('f"out/{sample}.pt"', False),
    ],
)
def test_a_path_with_a_count_in_it_is_the_same_on_all_ranks(path, is_reported):
    text = (
        "import somewhere\nimport torch\nfrom accelerate import Accelerator\n\nclass Mine:\n"
        "    def __init__(self):\n        self.accelerator = Accelerator()\n        self.step = somewhere.step()\n\n"
        "    def train(self):\n        global_step, which, sample = somewhere.on(), somewhere.which(), somewhere.a()\n"
        f"        self.accelerator.wait_for_everyone()\n        torch.save({{}}, {path})\n"
    )
    assert SNIPPETS.places(text) == [f"torch.save({{}}, {path})"] * is_reported


@pytest.mark.parametrize(
    ("leaving", "is_reported"),
    [
        ("if dist.get_rank() == 0:\n        if os.path.exists(path):\n            return", True),
        (
            "if dist.get_rank() == 0:\n        if os.path.isdir(path):\n            print(1)\n"
            "        else:\n            return",
            True,
        ),
        ("if dist.get_rank() != 0:\n        return", False),
        ("if dist.get_rank() != 0:\n        if ask(path):\n            print(path)\n        return", False),
        (
            "if dist.get_rank() != 0:\n        if ask(path):\n            return\n        else:\n            return",
            False,
        ),
        ("if ask(path):\n        if dist.get_rank() != 0:\n            return", False),
        ("if dist.get_rank() < 4:\n        if dist.get_rank() != 0:\n            return", False),
    ],
)
def test_a_rank_that_leaves_under_a_further_condition_goes_on_without_it(leaving, is_reported):
    text = (
        "import os\nimport torch\nimport torch.distributed as dist\nfrom somewhere import ask\n\ndef main(path):\n"
        f'    dist.init_process_group("nccl")\n    {leaving}\n    torch.save({{}}, "x.pt")\n\nmain("y")\n'
    )
    assert SNIPPETS.places(text) == ['torch.save({}, "x.pt")'] * is_reported


@pytest.mark.parametrize(
    ("written", "is_reported"),
    [
        ("    keep(\n        args.output_dir, first=accelerator.is_main_process, last=1\n    )\n", True),
        ("    keep(\n        1,\n        args.output_dir, first=accelerator.is_main_process\n    )\n", True),
        ("    args.output_dir, first = accelerator.process_index, 1\n", False),
        ("    args.output_dir, args.first=accelerator.process_index, 1\n", False),
    ],
)
def test_arguments_on_a_line_of_their_own_are_not_assigned_to(written, is_reported):
    text = (
        "import torch\nfrom accelerate import Accelerator\nfrom somewhere import keep, read\n\ndef main(args):\n"
        f"    accelerator = Accelerator()\n{written}    torch.save(" + "{}, args.output_dir)\n"
    )
    assert SNIPPETS.places(text) == ["torch.save({}, args.output_dir)"] * is_reported


RUNNER = """
import os
import torch
import torch.distributed as dist
from somewhere import ask, find

class Method:
    def update(self, loss):
        loss.{}()

class Runner:
    algorithm: {}

    def __init__(self, config):
        self.algorithm = find(config.name)(config)
        self.set_up()

    def set_up(self):
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            dist.{}("nccl")

    def learn(self, losses):
        for loss in losses:
            self.algorithm.update(loss)
        self.save()

    def save(self):
        torch.save({{}}, "x.pt")
"""


@pytest.mark.parametrize(
    ("method", "annotation", "called", "is_reported"),
    [
        ("backward", "Method", "init_process_group", True),
        ("backward", "'Method'", "init_process_group", True),
        ("detach", "Method", "init_process_group", False),
        ("backward", "object", "init_process_group", False),
        ("backward", "Method", "is_nccl_available", False),
    ],
)
def test_an_object_that_starts_the_processes_trains_on_each_of_them(method, annotation, called, is_reported):
    text = RUNNER.format(method, annotation, called)
    assert SNIPPETS.places(text) == ['torch.save({}, "x.pt")'] * is_reported


@pytest.mark.parametrize(
    ("waits", "is_reported"),
    [
        ("args.distributed", True),
        ("args.local_rank != -1", True),
        # It may be one on the rank: then the others make the folder while some wait.
        ("args.waits", False),
        ("args.helper", False),
        ("dist.get_rank() != 0", False),
        ("args.distributed and dist.get_rank() != 0", False),
        ("args.local_rank not in [-1, 0]", False),
    ],
)
def test_a_barrier_of_all_ranks_lets_no_rank_go_first(waits: str, is_reported: bool):
    text = f"""\
import os

import torch.distributed as dist


def main(args):
    dist.init_process_group("nccl")
    if {waits}:
        dist.barrier()
    if not os.path.exists("logs"):
        os.mkdir("logs")
"""
    assert [each.start.line for each in SNIPPETS.findings(text)] == [11] * is_reported


BY_CLOCK_OR_NOT = """
import argparse
import os
import time
import torch.distributed as dist


def make(folder):
    os.makedirs(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--resume", default="")
    parser.add_argument("--folder", default="out")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    name = time.strftime("%H-%M")
    {body}
"""


@pytest.mark.parametrize(
    ("body", "speaks"),
    [
        ("os.makedirs(name)", True),
        ("folder = f'out/{name}'\n    os.makedirs(folder)", True),
        ("make(name)", True),
        ("folder = args.resume if args.resume else f'out/{name}'\n    os.makedirs(folder)", False),
        ("folder = name\n    if args.resume:\n        folder = args.resume\n    os.makedirs(folder + '/x')", False),
        ("make(name)\n    make(args.folder)", False),
    ],
)
def test_clocks_matter_where_the_name_surely_has_the_time_in_it(body, speaks):
    findings = SNIPPETS.findings(BY_CLOCK_OR_NOT.replace("{body}", body))
    assert findings and {"if their clocks differ" in each.message for each in findings} == {speaks}
    assert {each.by_default for each in findings} == {not speaks}


HELPER = """\
import os
import torch.distributed as dist
from accelerate import Accelerator
from transformers import Trainer

def write(text):
    open("log.txt", "w").write(text)

{}
"""


@pytest.mark.parametrize(
    ("caller", "why"),
    [
        ("def main():\n    Accelerator()\n    write('x')", "each process runs `Accelerator()`"),
        (
            "def main():\n    os.environ['RANK']\n    write('x')",
            "a launcher sets `os.environ['RANK']` for each process",
        ),
        ("def main(x):\n    dist.all_reduce(x)\n    write('x')", "all processes meet here"),
        (
            "def main():\n    if dist.get_rank() == 0:\n        print()\n    write('x')",
            "`dist.get_rank() == 0` is tested, as several processes do",
        ),
        ("def main(m):\n    Trainer(m).train()\n    write('x')", "each process creates this trainer"),
        (
            "class T(Trainer):\n    def training_step(self, *args):\n        write('x')",
            "each process runs `training_step`, a hook",
        ),
    ],
)
def test_a_helper_says_why_there_are_several_processes(caller, why):
    (found,) = SNIPPETS.findings(HELPER.format(caller))
    assert [each.text for each in found.because] == [why]


def test_a_function_that_shows_itself_that_there_are_several_needs_no_explanation():
    (found,) = SNIPPETS.findings(HELPER.format("def main():\n    Accelerator()\n    open('x', 'w').write('y')"))
    assert found.because == ()


REFUSED = """
import torch.distributed as dist

def set_up(args):
    if {several}:
        dist.init_process_group("nccl")

def save(rows):
    open("rows.txt", "w").write(rows)

def main(args, rows, n_gpu):
    set_up(args)
    save(rows)
    {then}
"""


@pytest.mark.parametrize(
    ("several", "then", "is_refused"),
    [
        ("args.local_rank != -1", "if args.local_rank != -1: raise NotImplementedError", True),
        ("not args.local_rank == -1", "if args.local_rank != -1 or n_gpu > 1: raise NotImplementedError", True),
        ("args.ddp and n_gpu > 1", "if args.ddp: raise ValueError", True),
        ("args.ddp", "if not args.ddp:\n        print(1)\n    else:\n        raise ValueError", True),
        ("args.ddp", "if args.ddp and args.fast: raise ValueError", False),
        ("args.ddp or args.fsdp", "if args.ddp: raise ValueError", False),
        ("args.ddp", "if not args.ddp: raise ValueError", False),
        ("args.ddp", "args.ddp = False\n    if args.ddp: raise ValueError", False),
        ("args.ddp", "if rows: return\n    if args.ddp: raise ValueError", False),
        ("args.ddp", "for _ in rows:\n        if args.ddp: raise ValueError", False),
        ("args.ddp", "try:\n        if args.ddp: raise ValueError\n    except ValueError: pass", False),
        ("check()", "if check(): raise ValueError", False),
        ("args.ddp", "", False),
    ],
)
def test_a_program_that_raises_wherever_it_starts_a_group_is_one_process(several, then, is_refused):
    found = SNIPPETS.places(REFUSED.format(several=several, then=then))
    assert found == ([] if is_refused else ['open("rows.txt", "w")'])


STARTED = """\
import torch
import torch.distributed as dist
from apex import amp
from torch.nn.parallel import DistributedDataParallel


def train(model, optimizer, several):
    {start}
    if several:
        model = DistributedDataParallel(model)
    torch.save(optimizer.state_dict(), "optimizer.pt")


def main(model, optimizer, several):
    if several:
        dist.init_process_group("nccl")
    train(model, optimizer, several)
"""


@pytest.mark.parametrize(
    ("start", "guard"),
    [
        ('dist.init_process_group("nccl")', "if dist.get_rank() == 0:"),
        ("model, optimizer = amp.initialize(model, optimizer)", "if not dist.is_initialized() or "),
    ],
)
def test_a_rank_is_asked_for_only_where_torch_has_started_the_group(start, guard):
    """On one process there may be none, and `initialize` of another library starts none."""
    assert guard in SNIPPETS.mended(STARTED.format(start=start), unsafe=True)


@pytest.mark.parametrize(
    ("condition", "consequence"),
    [
        ("rank == 0", Consequence.CRASH),
        ("settings.log and rank == 0", Consequence.CRASH),
        ("settings.log and (not settings.engine or rank == 0)", Consequence.WASTE),
    ],
)
def test_logging_without_a_run_fails_if_only_one_rank_has_started_one(condition, consequence):
    text = f"""\
import torch.distributed as dist
import wandb
from somewhere import settings

dist.init_process_group("nccl")
rank = dist.get_rank()
if {condition}:
    wandb.init(project="ours", group="all")
wandb.log({{"size": settings.size}})
"""
    assert SNIPPETS.finding(text).consequence is consequence


def test_a_guard_that_is_asked_before_the_group_is_started_says_where_that_is():
    text = """
import torch.distributed as dist
import wandb

def is_main_process():
    return not dist.is_initialized() or dist.get_rank() == 0

def main(args):
    if is_main_process():
        wandb.init(project="x")
    dist.init_process_group("nccl")
    if is_main_process():
        wandb.log({"x": 1})
"""
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'wandb.init(project="x")'
    assert [step.text for step in finding.because] == [
        "the process group is started only here, and `is_main_process()` holds on all ranks, as it asks before"
    ]
    assert finding.help == "start the process group before the condition asks for it"
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_effects_of_one_kind_in_a_branch_are_one_finding():
    """One test of the rank does for all of them; for others, and for the next branch, it takes another one."""
    body = """\
        if args.keep:
            torch.save(loss, "loss.pt")
            print(loss)
            torch.save(batch, "batch.pt")
            os.remove("old.pt")
        else:
            torch.save(batch, "other.pt")
    """
    assert [len(each.also) for each in SNIPPETS.findings(IMPORTS + loop(body))] == [1, 0, 0]


def test_effects_in_the_body_of_a_function_are_findings_of_their_own():
    body = """\
        def train(self):
            torch.save(self.state, "state.pt")
            torch.save(self.args, "args.pt")
    """
    assert [len(each.also) for each in SNIPPETS.findings(IMPORTS + trainer(body))] == [0, 0]
