"""Values that are logged to the runs of a group, started in another file: each process has one, which is right."""

from __future__ import annotations

import pytest
from small_projects import written

from trl_lint import api
from trl_lint.settings import EVERY_RULE, Settings

TRAINER = """\
import wandb
from transformers import TrainerCallback

class OwnCallback(TrainerCallback):
    def on_step_end(self, args, state, control, **others):
        wandb.log({"step": state.global_step})

class OwnTrainer:
    def __init__(self, accelerator, model, loader):
        self.accelerator = accelerator
        self.model, self.loader = accelerator.prepare(model, loader)

    def train(self):
        for batch in self.loader:
            gap = (self.model(**batch).loss - batch["x"].mean()).item()
            wandb.log({"gap": gap})
"""
STARTS = """\
import wandb
from accelerate import Accelerator
from made_by_name import trainer_of

def begin(args):
    {}

def main(args):
    accelerator = Accelerator()
    {}
    trainer_of(args.name)(accelerator).train()
"""
IN_GROUP = "wandb.init(project='x', group=args.stamp)"


@pytest.mark.parametrize(
    ("start", "call", "is_told"),
    [
        (IN_GROUP, "begin(args)", False),
        ("pass", IN_GROUP, False),
        ("pass", f"if args.track:\n        {IN_GROUP}", False),
        ("pass", f"if accelerator.is_main_process:\n        {IN_GROUP}", True),
        (IN_GROUP, "if accelerator.is_main_process:\n        begin(args)", True),
        ("wandb.init(project='x', group=args.stamp, name='best')", "begin(args)", True),
        (f"wandb.init(project='x')\n    {IN_GROUP}", "begin(args)", True),
        ("pass", "begin(args)", True),
    ],
)
def test_what_is_logged_where_each_process_has_a_run(start, call, is_told, tmp_path):
    folder = written(tmp_path, {"trainer.py": TRAINER, "train.py": STARTS.format(start, call)})
    findings = api.check(folder, Settings(root=folder, select=(EVERY_RULE,)))
    in_trainer = {each.code for each in findings if each.path.endswith("trainer.py")}
    assert in_trainer == ({"TRL003", "TRL008"} if is_told else set())


CALLBACK = """\
import wandb
from lightning.pytorch.callbacks import Callback

class Notes(Callback):
    def on_fit_start(self, trainer, pl_module):
        self.run_id = wandb.run.id
"""
START = "import wandb\n\ndef begin(trainer):\n    {}\n"


@pytest.mark.parametrize(
    ("name", "start", "is_told"),
    [
        ("main.py", "pass", True),
        ("main.py", "if trainer.global_rank == 0:\n        wandb.init()", True),
        ("main.py", "wandb.init()", False),
        ("main.py", "if trainer.global_rank == 0:\n        wandb.init(mode=trainer.mode)", False),
        ("test_main.py", 'wandb.init(mode="disabled")', True),
    ],
)
def test_a_run_that_each_process_starts_in_another_file_has_attributes_on_all(tmp_path, name, start, is_told):
    written(tmp_path, {"notes.py": CALLBACK, name: START.format(start)})
    findings = api.check(tmp_path, Settings(root=tmp_path))
    assert any("wandb.run.id" in each.message for each in findings) is is_told


OBJECT = """\
import wandb
from accelerate import Accelerator

def begin(accelerator, args):
    return wandb.init({})

def main(args, model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    run = begin(accelerator, args)
    for batch in loader:
        run.log({{"loss": model(**batch).loss.item()}})
"""


@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [
        ("group=args.name, name=f'rank{accelerator.process_index}'", False),
        ("group=args.name", False),
        ("name=f'rank{accelerator.process_index}'", False),
        ("group=args.name, mode='offline'", False),
        # One run takes everything, so what is logged is the first rank's.
        ("mode='online' if accelerator.is_main_process else 'disabled'", True),
        ("group=args.name, mode=args.mode", True),
        ("project=args.name", True),
    ],
)
def test_what_the_object_of_a_run_logs(arguments, is_told, tmp_path):
    folder = written(tmp_path, {"train.py": OBJECT.format(arguments)})
    findings = api.check(folder, Settings(root=folder, select=(EVERY_RULE,)))
    assert ("TRL003" in {each.code for each in findings}) is is_told


@pytest.mark.parametrize(
    ("arguments", "is_told"), [("name=f'rank{accelerator.process_index}'", False), ("project='x'", True)]
)
def test_a_run_that_a_function_of_another_file_starts(arguments, is_told, tmp_path):
    start, use = OBJECT.format(arguments).split("from accelerate", 1)
    begin, main = use.split("def main")
    head = begin.partition("\n")[0]
    runs = start + begin.partition("\n")[2]
    train = f"from accelerate{head}\nfrom runs import begin\n\ndef main{main}"
    folder = written(tmp_path, {"runs.py": runs, "train.py": train})
    findings = api.check(folder, Settings(root=folder, select=(EVERY_RULE,)))
    assert ("TRL003" in {each.code for each in findings}) is is_told


GIVEN = """\
import wandb

def short(completions, **others):
    wandb.log({"limit": 80})
    wandb.run.summary["limit"] = 80
    return [float(len(text) < 80) for text in completions]
"""
GIVES = """\
import hydra
import wandb
from accelerate import PartialState
from given import short
from trl import GRPOTrainer
{}
def main(args):
    {}
    GRPOTrainer(model="small", reward_funcs=[short]).train()

main()
"""
DECORATED = '\n@hydra.main(config_path="conf")'


@pytest.mark.parametrize(
    ("decorator", "start", "found"),
    [
        ("", "pass", ["crash", "crash"]),
        ("", "if PartialState().is_main_process:\n        wandb.init()", ["crash", "crash"]),
        (DECORATED, "if PartialState().is_main_process:\n        wandb.init()", ["crash", "crash"]),
        ("", "wandb.init()", ["waste"]),
        (DECORATED, "wandb.init()", ["waste"]),
        ("", "if PartialState().is_main_process:\n        wandb.init(mode=args.mode)", ["waste"]),
    ],
)
def test_a_function_that_a_trainer_is_given_fails_if_only_the_main_process_has_a_run(decorator, start, found, tmp_path):
    written(tmp_path, {"given.py": GIVEN, "train.py": GIVES.format(decorator, start)})
    findings = api.check(tmp_path, Settings(root=tmp_path, select=(EVERY_RULE,)))
    assert [each.consequence.value for each in findings if each.path.endswith("given.py")] == found


def test_a_run_that_a_function_on_the_main_process_starts_is_that_ones(tmp_path):
    start = "\n@PartialState().on_main_process\ndef begin():\n    wandb.init()\n"
    written(tmp_path, {"given.py": GIVEN, "train.py": GIVES.format(start, "begin()")})
    findings = api.check(tmp_path, Settings(root=tmp_path))
    assert [each.consequence.value for each in findings if each.path.endswith("given.py")] == ["crash", "crash"]
