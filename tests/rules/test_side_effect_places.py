"""TRL008: which places are known to be shared, and which code is known to be run by every process."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import importlib
import os
from pathlib import Path
import wandb
from accelerate import Accelerator
from somewhere import given

def main(args, cfg, output_dir, folder, epoch, me, tokens):
    accelerator = Accelerator()
    root = Path(args.output_dir)
    {}
"""


def is_reported(body: str) -> bool:
    return bool(SNIPPETS.findings(PROGRAM.format(body.replace("\n", "\n    "))))


@pytest.mark.parametrize(
    "body",
    [
        'open(os.path.join(args.output_dir, "x"), "w")',
        'open(f"{cfg.train.save_dir}/{epoch}.txt", "w")',
        'open(cfg["out"] + "/x", "w")',
        'open(cfg.get("out", "x"), "w")',
        'os.remove(os.path.join(output_dir, "x"))',
        'name = args.name if args.name is not None else "x"\nopen(name, "w")',
        'last = epoch % args.every == 0\nif last:\n    open("x", "w")',
        'if importlib.import_module(args.plugin).make(1) is None:\n    return\nopen("x", "w")',
        'if args.output_dir or tokens:\n    open("x", "w")',
        '(root / "x").mkdir()',
        '(root / "x").mkdir(exist_ok=False)',
        'root.joinpath("x").write_text("x")',
        'with (root / "x").open("w") as file:\n    file.write("x")',
        "if root.exists():\n    root.unlink()",
        'for each in root.glob("*.pt"):\n    each.unlink()',
        'root.with_suffix(".txt").rename("x")',
        "wandb.init(project=args.project, config=given(args))",
        'tracker = accelerator.get_tracker("wandb")\nif args.track:\n    tracker.run.get_url()',
    ],
)
def test_places_and_conditions_that_follow_from_settings(body):
    assert is_reported(body)


@pytest.mark.parametrize(
    "body",
    [
        'open(os.path.join(args.local_dir_of_rank, "x"), "w")',
        'open(f"{cfg.train.save_dir}/{me}.txt", "w")',
        'open(cfg["rank_file"], "w")',
        'open(given(args), "w")',
        'open(folder, "w")',
        'if importlib.import_module(args.plugin).make(tokens) is None:\n    return\nopen("x", "w")',
        '(root / "x").mkdir(exist_ok=True)',
        "root.unlink(missing_ok=True)",
        "(root / str(accelerator.process_index)).mkdir()",
        "(root / given(args)).mkdir()",
        '(root / "x").open()',
        "if accelerator.is_main_process:\n    root.mkdir()",
        "tokens.unlink()",
        "wandb.init(name=given(args))",
        'tracker = accelerator.get_tracker("wandb")\nif accelerator.is_main_process:\n    tracker.run.get_url()',
        'accelerator.get_tracker("wandb").log({"x": 1})',
    ],
)
def test_places_that_may_be_this_ranks_own(body):
    assert not is_reported(body)


KEPT = """\
import os
import torch.distributed as dist

class Saver:
    def __init__(self, root, me):
        self.output_dir = {}

    def save(self):
        dist.barrier()
        open(os.path.join(self.output_dir, "x"), "w")
"""


@pytest.mark.parametrize(
    ("place", "is_reported"),
    [
        ("given(root)", True),
        ('os.path.join(root, f"rank_{me}")', False),
        ("os.path.join(root, given(os.getpid()))", False),
    ],
)
def test_a_place_that_is_kept_is_shared_unless_the_file_says_otherwise(place, is_reported):
    assert bool(SNIPPETS.findings(KEPT.format(place))) is is_reported


MEETING = """\
import torch.distributed as dist

def save(model, group, me):
    {}
    open("x", "w")
"""


@pytest.mark.parametrize(
    ("meets", "is_reported"),
    [
        ("dist.barrier()", True),
        ("if group:\n        dist.barrier()", True),
        ("pass", False),
        ("if dist.get_rank() == 0:\n        return\n    dist.barrier()", False),
        ("if dist.get_rank() == 0:\n        dist.broadcast(model, 0)", False),
        ("dist.barrier(group=group)", False),
        ("meet()", False),
    ],
)
def test_where_ranks_meet_all_of_them_come(meets, is_reported):
    text = MEETING.format(meets) + "\ndef meet():\n    dist.barrier()\n"
    assert bool(SNIPPETS.findings(text)) is is_reported


OBJECT = """\
import torch.distributed as dist

class Evaluator:
    def __init__(self):
        open("x", "w")

    def meet(self):
        {}

    def save(self):
        self.meet()
        open("y", "w")
"""


def test_whose_methods_all_ranks_call_is_made_by_all():
    assert len(SNIPPETS.findings(OBJECT.format("dist.barrier()"))) == 2
    assert not SNIPPETS.findings(OBJECT.format("pass"))


def test_a_callback_is_made_by_all():
    text = "from transformers import TrainerCallback\nclass Log({}):\n    def __init__(self):\n        open('x', 'w')\n"
    assert SNIPPETS.findings(text.format("TrainerCallback"))
    assert not SNIPPETS.findings(text.format("object"))


SET_BELOW = """\
import os
import torch.distributed as dist

class Base:
    def __init__(self, cfg):
        self.cfg = cfg
        self.helper = None

    def save(self):
        if self.cfg.limit <= 0 or not self.helper.{}:
            return
        os.remove("x")
        dist.barrier()
"""


@pytest.mark.parametrize("asks", ["is_main_process", "leads()", "leads"])
def test_what_a_subclass_sets_may_guard(asks):
    assert not SNIPPETS.findings(SET_BELOW.format(asks))
    assert SNIPPETS.findings(SET_BELOW.replace("not self.helper.{}", "not self.cfg.save"))


LIGHTNING = """\
import pytorch_lightning as pl
import wandb
from pytorch_lightning.utilities import rank_zero_only

class Module({}):
    {}
    def {}(self, batch, batch_idx):
        {}wandb.log({{"x": 1}})
"""


@pytest.mark.parametrize(
    ("base", "decorator", "hook", "guard", "is_reported"),
    [
        ("pl.LightningModule", "", "validation_step", "", True),
        ("pl.LightningModule", "", "validation_step", "if batch_idx == 0: ", True),
        ("pl.Callback", "", "on_train_end", "", True),
        ("pl.LightningModule", "", "validation_step", "if self.trainer.is_global_zero: ", False),
        ("pl.LightningModule", "", "validation_step", "if self.global_rank == 0: ", False),
        ("pl.LightningModule", "", "validation_step", "if batch_idx in batch: ", False),
        ("pl.LightningModule", "@rank_zero_only", "on_train_end", "", False),
        ("pl.LightningModule", "", "prepare_data", "", False),
        ("pl.LightningDataModule", "", "validation_step", "", False),
    ],
)
def test_what_lightning_runs_on_every_process(base, decorator, hook, guard, is_reported):
    assert bool(SNIPPETS.findings(LIGHTNING.format(base, decorator, hook, guard))) is is_reported
