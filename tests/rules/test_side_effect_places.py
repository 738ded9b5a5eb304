"""TRL008: which places are known to be shared, and which code is known to be run by every process."""

from __future__ import annotations

import pytest
from snippets import Snippets

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import importlib
import os
from pathlib import Path
import torch
import wandb
from accelerate import Accelerator
from diffusers import StableDiffusionPipeline
from diffusers.loaders import LoraLoaderMixin
from somewhere import given, newest

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
        'run_id = accelerator.get_tracker("wandb").run.id',
    ],
)
def test_places_and_conditions_that_follow_from_settings(body):
    assert is_reported(body)


RESUMED = """\
global_step = int(newest(os.listdir(args.output_dir)).split("-")[1])
first_epoch = global_step // args.steps_per_epoch
resume_step = global_step % args.steps_per_epoch
for epoch in range(first_epoch, args.epochs):
    for step, batch in enumerate(given(args)):
        if args.resume and epoch == first_epoch and step < resume_step:
            continue
        train_steps = epoch * args.steps_per_epoch + step
        param_update_steps = train_steps // 2
        {}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('if train_steps % args.log_every == 0:\n    open("x", "w")', True),
        ('if param_update_steps % args.log_every == 0:\n    open("x", "w")', True),
        ('os.remove(os.path.join(args.output_dir, str(epoch), "x"))', True),
        ('torch.save(batch, f"{args.output_dir}/{epoch}-{train_steps}.pt")', True),
        ('open(f"{args.output_dir}/{me}-{epoch}.txt", "w")', False),
        ('open(f"{args.output_dir}/{accelerator.process_index}-{epoch}.txt", "w")', False),
        ('if accelerator.process_index == epoch:\n    open("x", "w")', False),
        ('if me == train_steps:\n    open("x", "w")', False),
    ],
)
def test_a_resumed_training_goes_on_at_the_same_step_on_all_ranks(body, expected):
    assert is_reported(RESUMED.format(body.replace("\n", "\n        "))) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("StableDiffusionPipeline.save_lora_weights(args.output_dir, unet_lora_layers=given(args))", True),
        ("LoraLoaderMixin.save_lora_weights(save_directory=args.output_dir)", True),
        ('LoraLoaderMixin.save_lora_weights(f"{args.output_dir}/{me}")', False),
        ("StableDiffusionPipeline.load_lora_weights(args.output_dir)", False),
        ("given(args).config.save_pretrained(args.output_dir)", True),
        ("given(args).adapter.save_pretrained(args.output_dir)", False),
        ("given(args).config.save_pretrained(me)", False),
    ],
)
def test_what_is_called_on_a_class_and_what_only_its_name_tells(body, expected):
    assert is_reported(body) is expected


@pytest.mark.parametrize(
    "body",
    [
        'open(os.path.join(args.local_dir_of_rank, "x"), "w")',
        'open(f"{cfg.train.save_dir}/{me}.txt", "w")',
        'open("/dev/null", "w")',
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
        'if accelerator.is_main_process:\n    run_id = accelerator.get_tracker("wandb").run.id',
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
        ("if dist.get_rank() == 0:\n        dist.broadcast(model, 0)", True),
        ("dist.barrier(group=group)", False),
        ("meet()", True),
    ],
)
def test_where_ranks_meet_all_of_them_come(meets, is_reported):
    text = MEETING.format(meets) + "\ndef meet():\n    dist.barrier()\n"
    assert bool(SNIPPETS.findings(text)) is is_reported


ASKED = """\
import os
from accelerate import Accelerator
from somewhere import is_main_process, given

def save(model, accelerator: Accelerator, args, rank):
    {}
    open("x", "w")
"""


@pytest.mark.parametrize(
    ("asks", "is_reported"),
    [
        ("if accelerator.is_main_process:\n        print(model)", True),
        ("if is_main_process():\n        print(model)", True),
        ("if args.local_rank in (-1, 0):\n        print(model)", True),
        ('if int(os.environ.get("RANK", "0")) == 0:\n        print(model)', True),
        ("if not is_main_process():\n        return", False),
        ("if is_main_process():\n        print(model)\n    else:\n        return", False),
        ("if os.getpid() == 0:\n        print(model)", False),
        # A number that may be that of an adapter's matrices, one condition among others, and none at all.
        ("if rank == 8:\n        print(model)", False),
        ("if given() and is_main_process():\n        print(model)", False),
        ("if args.debug:\n        print(model)", False),
        # Code that also runs on one process.
        ("if accelerator is None or accelerator.is_main_process:\n        print(model)", False),
        ("if is_main_process():\n        print(ray.get(model))", False),
        ('os.environ["RANK"] = "0"\n    if is_main_process():\n        print(model)', False),
        ('os.environ["RANK"] = str(rank)\n    if is_main_process():\n        print(model)', True),
    ],
)
def test_who_asks_for_the_rank_is_run_by_several(asks, is_reported):
    assert bool(SNIPPETS.findings(ASKED.format(asks))) is is_reported


def test_who_asks_for_the_rank_under_a_guard_is_run_by_one():
    text = ASKED.format("if is_main_process():\n        show(model)") + (
        "\ndef show(model):\n    if is_main_process():\n        print(model)\n    open('y', 'w')\n"
    )
    assert [finding.start.line for finding in SNIPPETS.findings(text)] == [8]


TESTED = """\
from torch.distributed import init_process_group

class Saver:
    def __init__(self):
        init_process_group("gloo")

    def save(self, model):
        open("x", "w")

def {}(model):
    saver = Saver()
    saver.save(model)
"""


@pytest.mark.parametrize(("name", "is_reported"), [("train", True), ("test_saver", False)])
def test_a_test_of_what_starts_processes_is_one_process(name, is_reported, tmp_path):
    path = tmp_path / "test_saver.py"
    path.write_text(TESTED.format(name))
    linter = Linter(SNIPPETS.settings, (tmp_path,), (SNIPPETS.rule,))
    assert bool(linter.check(path, path.read_bytes())) is is_reported


WAITS = "import torch.distributed as dist\n\ndef is_main_process():\n    return dist.get_rank() == 0\n"
WAITS += "\ndef barrier():\n    dist.barrier()\n"
WAITING = """\
from helpers import barrier, is_main_process{}

def save(model):
    if is_main_process():
        barrier()
    open("x", "w")
"""


@pytest.mark.parametrize("more", ["", "\nimport torch.distributed"])
def test_a_file_that_names_no_library_waits_with_helpers_that_do(more, tmp_path):
    (tmp_path / "helpers.py").write_text(WAITS)
    path = tmp_path / "saving.py"
    path.write_text(WAITING.format(more))
    linter = Linter(SNIPPETS.settings, (tmp_path,), (find_rule("TRL006"), find_rule("TRL008")))
    assert [finding.code for finding in linter.check(path, path.read_bytes())] == ["TRL006", "TRL008"]


DECORATED = """\
from somewhere import {0}
from torch.utils.tensorboard import SummaryWriter

class Logger:
    def __init__(self, save_dir):
        self.writer = SummaryWriter(save_dir)

    def close(self):
        open("x", "w")

    def log_both(self, x):
        self.log(x)
        open("y", "w")

    @{0}
    def log(self, x):
        open("z", "w")
"""


@pytest.mark.parametrize("decorator", ["main_process_only", "master_only", "rank_zero_experiment", "rank_zero_only"])
def test_a_method_that_lets_only_some_ranks_in_is_called_by_all(decorator):
    """All ranks create the object, and call the method. The callers of other methods are unknown."""
    text = DECORATED.format(decorator)
    assert [finding.start.line for finding in SNIPPETS.findings(text)] == [6, 13]
    assert not SNIPPETS.findings(DECORATED.format("with_retries"))


@pytest.mark.parametrize(
    "start",
    [
        "deepspeed.init_distributed()",
        "engine, *_ = deepspeed.initialize(args=args, model=model)",
        "model = FSDP(model)",
        "fabric = Fabric()",
        'dist.initialize_dist("gpu")',
        "trainer = Trainer(model=model)",
    ],
)
def test_a_program_that_starts_its_processes(start):
    text = (
        "import deepspeed\nfrom composer import Trainer\nfrom composer.utils import dist\n"
        "from lightning.fabric import Fabric\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
        f"\ndef main(args, model):\n    {start}\n    {{}}open('x', 'w')\n"
    )
    assert SNIPPETS.findings(text.format(""))
    assert not SNIPPETS.findings(text.format("if dist.get_global_rank() == 0: "))
    assert not SNIPPETS.findings(text.format("").replace(start, "pass"))


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


CALLED_BY_PROGRESS = """\
import torch.distributed as dist
from somewhere import given, steps

def save(args, global_step):
    open(f"{{args.output_dir}}/{{global_step}}.txt", "w")

def main(args, cfg):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    global_step, picked = given(args)
    for batch in steps(args):
        global_step += 1
        if {}:
            save(args, global_step)

if __name__ == "__main__":
    main(given(), given())
"""


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("global_step % args.save_every == 0", True),
        ("global_step % 500 == 0 or args.save_always", True),
        ("global_step > cfg.train.start_step and global_step % cfg.save_steps == 0", True),
        # What a counter is divided by says how often; what the remainder is compared with may say on which rank.
        ("global_step % picked == 0", True),
        ("(global_step + 1) % picked == 0 and args.save_always", True),
        ("not global_step % picked", True),
        ("global_step % picked == picked", False),
        ("picked and global_step % picked == 0", False),
        ("global_step % rank == 0", False),
        ("picked % 10 == 0", False),
        ("global_step % args.save_every == picked", False),
        ("global_step % args.save_every == rank", False),
        ("global_step == args.rank", False),
        ("given(global_step)", False),
    ],
)
def test_a_helper_that_a_caller_runs_at_some_steps(condition, expected):
    assert bool(SNIPPETS.findings(CALLED_BY_PROGRESS.format(condition))) is expected


PASSED = """\
import argparse
import os
import sys
import deepspeed
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--me", type=int)
args = parser.parse_args()
{number}
out = open("/data/times_{{}}.txt".format({named}), "w")
{start}
out.write("x")
"""
START = 'dist.init_process_group("nccl", rank={}, world_size=4)'


@pytest.mark.parametrize(
    ("number", "named", "start", "is_shared"),
    [
        ("me = int(sys.argv[1])", "me", START.format("me"), False),
        ("me = sys.argv[1]", "me", START.format("int(me)"), False),
        ("", "args.me", START.format("args.me"), False),
        ("me = args.me", "args.me", START.format("me"), False),
        ("me = args.me", "me", START.format("me"), False),
        ("", 'os.environ["ME"]', START.format('int(os.environ["ME"])'), False),
        ("me = os.getenv('ME')", "os.environ.get('ME')", START.format("int(me)"), False),
        ("me = int(sys.argv[1])", "me", "deepspeed.init_distributed(rank=me, world_size=4)", False),
        # Something else is passed, or nothing.
        ("me = int(sys.argv[1])\nrank = int(sys.argv[2])", "me", START.format("rank"), True),
        ("", "args.other", START.format("args.me"), True),
        ("other = parser.parse_args()", "other.me", START.format("args.me"), True),
        ("", 'os.environ["RUN"]', START.format('int(os.environ["ME"])'), True),
        ("me = int(sys.argv[1])", "me", 'dist.init_process_group("nccl", world_size=me)', True),
        ("me = int(sys.argv[1])", "me", "dist.init_process_group('nccl')\ndist.new_group(rank=me)", True),
        # Which of the two is the rank is not known.
        ("me = int(sys.argv[1])\nif args.one:\n    me = 0", "'x'", START.format("me"), True),
        ("me = 0", "me", START.format("me"), True),
    ],
)
def test_what_is_passed_as_the_rank_is_the_number_of_this_process(number, named, start, is_shared):
    assert bool(SNIPPETS.findings(PASSED.format(number=number, named=named, start=start))) is is_shared


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("if me == 0:\n    write()", False),
        ("if args.me == 0:\n    write()", True),
        ("def write_own():\n    open(f'times_{me}', 'w')\n\n\nwrite_own()", False),
        ("def write_own(me):\n    open(f'times_{me}', 'w')\n\n\nwrite_own(args.me)", True),
    ],
)
def test_a_condition_on_what_is_passed_as_the_rank_is_one_on_the_rank(body, is_reported):
    number = f"me = int(sys.argv[1])\n\n\ndef write():\n    open('times', 'w')\n\n\n{START.format('me')}\n{body}"
    text = PASSED.format(number=number, named="me", start="").replace("{{", "{").replace("}}", "}")
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(("number", "is_given"), [("me", True), ("1 - me", True), ("other", False)])
def test_a_parameter_that_is_passed_as_the_rank(number, is_given):
    text = (
        "import torch.distributed as dist\n\n\ndef run(me, other):\n    log = open(f'times_{NUMBER}', 'w')\n"
        "    dist.init_process_group('nccl', rank=me, world_size=4)\n    log.write('x')\n\n\n"
        "def main(args):\n    run(args.me, args.other)\n"
    )
    assert bool(SNIPPETS.findings(text.replace("NUMBER", number))) is not is_given
