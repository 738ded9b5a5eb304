"""Each guess from a name decides the verdict on one program, and does not on one with another name.

Without the guess the first verdict changes: so no guess without an effect is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import libcst as cst
import pytest

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / name) for name in ("analysis", "launch", "rules")]

from launching import only_start, starts  # noqa: E402
from reveals import fact  # noqa: E402
from snippets import LAST, SETTINGS, TREES, Snippets, loop, trainer  # noqa: E402

from trl_lint.analysis.program.project.project import Module  # noqa: E402
from trl_lint.analysis.program.project.source_text import code_of  # noqa: E402
from trl_lint.fixes.support.caching import changed_config  # noqa: E402
from trl_lint.knowledge import library  # noqa: E402
from trl_lint.knowledge.heuristics import Guess, all_guesses  # noqa: E402
from trl_lint.knowledge.schema import BARE_MODEL  # noqa: E402
from trl_lint.launch.judge import gpus as judge  # noqa: E402
from trl_lint.launch.judge.arguments import may_ask_to_train, may_train  # noqa: E402
from trl_lint.launch.judge.engines import of_file  # noqa: E402
from trl_lint.launch.judge.launchers import training_script  # noqa: E402
from trl_lint.launch.judge.one_gpu import says_one_gpu  # noqa: E402
from trl_lint.launch.training.trainers import Trainers  # noqa: E402
from trl_lint.linter.execution.project_files import ProjectFiles  # noqa: E402
from trl_lint.linter.linter import Linter  # noqa: E402
from trl_lint.rules import all_rules, find_rule  # noqa: E402
from trl_lint.verify.oracles.logged_metrics import metrics_of  # noqa: E402
from trl_lint.verify.record.traces import Log, RankRecord, Run  # noqa: E402
from trl_lint.wording import Surroundings, surroundings_of  # noqa: E402

GUESSES = all_guesses()
RESUMED = """\
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def main(args):
    model = nn.Linear(2, 2)
    model.load_state_dict(torch.load(args.{})["model"])
    model = DDP(model)
    torch.save({{"model": model.state_dict()}}, args.folder + "/last.pt")
"""
DRAWS_IF = """\
import argparse
from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--{0}", action="store_true")
args = parser.parse_args()
rows = load_dataset("json", split="train")
if args.{0}:
    rows = rows.train_test_split(0.1)["test"]
loader = Accelerator().prepare(DataLoader(rows))
"""
TOLD_THE_LOSS = """\
import torch
from accelerate import Accelerator

def evaluate(writer, loader):
    return torch.stack([batch["right"].float().mean() for batch in loader]).mean()

def train(accelerator, writer, model, loader):
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        writer.{}("loss", loss)
        accelerator.log({{"score": evaluate(writer, loader).item()}})

def main():
    accelerator = Accelerator()
    model, loader = accelerator.prepare(make_model(), make_loader())
    train(accelerator, make_writer(), model, loader)
"""
WRAPPED_ELSEWHERE = """\
from torch.nn.parallel import DistributedDataParallel

def show(model, args):
    if args.{0}:
        print(model.config)

def main(args, model):
    if args.distributed:
        model = DistributedDataParallel(model)
    show(model, args)
"""
STEPS = """\
from accelerate import Accelerator
from torch.optim.lr_scheduler import CosineAnnealingLR

def main(args, model, optimizer):
    accelerator = Accelerator()
    count = {} if args.count is None else args.count
    if args.steps is None:
        args.steps = args.epochs * count
    schedule = CosineAnnealingLR(optimizer, T_max=args.steps)
    model, optimizer, schedule = accelerator.prepare(model, optimizer, schedule)
    for step in range(args.steps):
        accelerator.backward(model(step))
        optimizer.step()
        schedule.step()
"""
TRAINED_BY_UNKNOWN = """\
from accelerate import Accelerator
from somewhere import build, {0}, rows

accelerator = Accelerator()
model = accelerator.prepare(build())
for batch in rows():
    loss = {0}(batch)
    reveal_rank(loss)
    accelerator.backward(loss)
"""
SCALED = """\
from accelerate import Accelerator
from somewhere import build, rows, scaler

accelerator = Accelerator()
model, loader = accelerator.prepare(build(), rows())
for batch in loader:
    loss = model(batch).loss
    reveal_rank(scaler.{0}(loss))
"""
DEALT_BY_HAND = """\
import torch.distributed as dist
from mine import {0}, score

def evaluate(paths):
    dist.init_process_group("nccl")
    for row in {0}(paths)[dist.get_rank() :: dist.get_world_size()]:
        dist.all_reduce(score(row))
"""
SHARED_BY_HAND = """\
import torch
import torch.distributed as dist
import wandb
from somewhere import rows

def main(rank: int, size: int):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    model = torch.nn.Linear(3, 1)
    scores = [model(row).mean().item() for row in rows.{0}(size, dist.get_rank())]
    if dist.get_rank() == 0:
        wandb.log({{"score": sum(scores)}})
"""
SHARED_BY_TIMM = """\
import torch
import torch.distributed as dist
import wandb
from timm.data import create_loader

def main(args, rows):
    dist.init_process_group("nccl")
    model = torch.nn.Linear(3, 1)
    scores = [model(row).mean().item() for row, _ in create_loader(rows, 224, 8, distributed=args.{0})]
    if dist.get_rank() == 0:
        wandb.log({{"score": sum(scores)}})
"""
OF_GROUP = """\
import torch.distributed as dist

def meet({0}, {1}):
    if {0} == 0:
        assert {1} == 1
        dist.barrier()

meet(dist.get_rank(), unknown())
"""
SAVED_AFTER = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from somewhere import {0}

def main(model):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    {0}()
    torch.save(model.state_dict(), "last.pt")

main(None)
"""
REDUCED_ON_ONE_WAY = """\
import wandb
from accelerate import Accelerator
from somewhere import {0}

def show(accelerator: Accelerator, model, loader, several):
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        reward = model(**batch).reward.mean()
        if several:
            {0}("reward", reward.item())
        wandb.log({{"reward": reward}})
"""
FIXTURES = TESTS.parent / "fixtures"

# --- the verdicts on programs -------------------------------------------------------------------------------

Ask = Callable[[str, Path], Any]


LOCAL_STEPS = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from mine import {0}

def main(loader):
    dist.init_process_group("nccl")
    model = DDP(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        optimizer.step()
    {0}(model)
"""


EXCHANGED = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from mine import exchange, {0}

def main(loader):
    dist.init_process_group("nccl")
    model = DDP(torch.nn.Linear(2, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in loader:
        with model.no_sync():
            model(x).sum().backward()
        exchange({0})
        optimizer.step()
"""


BESIDE = """
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

class Net(torch.nn.Module):
    def forward(self, x):
        return x

def make(net):
    {0} = list(net.parameters())
    return {0}

def main(loader):
    dist.init_process_group("nccl")
    one, other = Net(), DDP(Net())
    make(one)
    optimizer = torch.optim.SGD(one.parameters(), lr=0.1)
    optimizer_of_other = torch.optim.SGD(other.parameters(), lr=0.1)
    for x in loader:
        one(x).sum().backward()
        optimizer.step()
        other(x).sum().backward()
        optimizer_of_other.step()
"""


def diverges_by_default(text: str, folder: Path) -> int:
    """How many findings of TRL006 in a text are in the default set."""
    return sum(each.by_default for each in Snippets("TRL006").findings(text))


def draws_by_default(text: str, folder: Path) -> int:
    """How many findings of TRL015 in a text are in the default set."""
    return sum(each.by_default for each in Snippets("TRL015").findings(text))


def shown_by_default(text: str, folder: Path) -> int:
    """How many findings of TRL003 in a text are in the default set."""
    return sum(each.by_default for each in Snippets("TRL003").findings(text))


def stays_by_default(text: str, folder: Path) -> int:
    """How many findings of TRL001 in a file at this path are in the default set."""
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    linter = Linter(SETTINGS, (folder,), (find_rule("TRL001"),))
    return sum(each.by_default for each in linter.check(path, text.encode()))


def stays_by_default_in(package: str, folder: Path) -> int:
    """The same for a class in a package of this name, next to a program."""
    path = folder / package / "trainer.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "__init__.py").touch()
    (folder / "run.py").write_text(f"{GATHER}if __name__ == '__main__':\n    total(3)\n", encoding="utf-8")
    text = trainer("def compute_loss(self, model, inputs):\n    self.accelerator.gather(inputs['ids'].sum().item())")
    path.write_text(text, encoding="utf-8")
    linter = Linter(SETTINGS, (folder,), (find_rule("TRL001"),))
    linter.prepare((each, each.read_bytes()) for each in (path, folder / "run.py"))
    return sum(each.by_default for each in linter.check(path, text.encode()))


def rule(code: str, *engines: str) -> Ask:
    """How many findings a rule has, in a project that runs under these engines."""
    return lambda text, folder: len(Snippets(code, replace(SETTINGS, engines=engines)).findings(text))


def mended(code: str, wanted: str) -> Ask:
    """Whether the text contains `wanted` after the fixes of a rule."""
    return lambda text, folder: wanted in Snippets(code).fix(text.encode(), unsafe=True).source.decode()


def revealed(text: str, folder: Path) -> str:
    return fact(text, folder)


def revealed_beside(text: str, folder: Path) -> str:
    """The fact in a program next to a file with this constant."""
    name = text.partition(" ")[0]
    (folder / "job.py").write_text(f"import os\n{text}\n")
    return fact(f"from job import {name}\nif {name}:\n    reveal_rank(1)\n", folder)


def is_model(name: str, folder: Path) -> bool:
    return library.maker(f"{name}.from_pretrained") is BARE_MODEL


def surroundings(text: str, folder: Path) -> Surroundings:
    return surroundings_of(Module(folder / "x.py", "x", cst.parse_module(text), folder), None)


def is_looked_at(text: str, folder: Path) -> bool:
    return b"trl" in code_of(text.encode())


def changed(text: str, folder: Path) -> list[str]:
    return sorted(changed_config(cst.parse_module(text)))


def is_one_of_several(text: str, folder: Path) -> bool:
    return judge.is_one_of_several(only_start(text))


def gets_one_gpu(text: str, folder: Path) -> bool:
    return says_one_gpu(only_start(text))


def configuration(text: str, folder: Path) -> str:
    """The settings file that a launch is known to name."""
    (launch,) = of_file(PurePath("README.md"), text.encode()).launches
    return launch.configuration


def told_gpus(text: str, folder: Path) -> str:
    return judge.gpus(only_start(text)).gpus.name


def told_gpus_of_job(machine: str, folder: Path) -> str:
    """The number of GPUs that a job on this machine gives."""
    job = f"jobs:\n  train:\n    runs-on: {machine}\n    steps:\n      - run: python x.py\n"
    return judge.gpus(only_start(job, ".github/workflows/x.yml")).gpus.name


def told_condition(text: str, folder: Path) -> str:
    return judge.gpus(only_start(text)).evidence


def may(text: str, folder: Path) -> bool:
    return may_train(only_start(text))


def may_ask(text: str, folder: Path) -> bool:
    return may_ask_to_train(only_start(text), lambda name: None)


def is_start(text: str, folder: Path) -> bool:
    return bool(starts(text))


def is_known_script(path: str, folder: Path) -> bool:
    return training_script(path) is not None


def trained_with(text: str, folder: Path) -> str:
    script = folder / "train.py"
    script.write_text(text)
    found = Trainers([folder]).training(script)
    return "" if found is None else found.trainer


def harm(path: str, folder: Path) -> bool:
    """Whether the finding on the launch of a missing script says that the model is wrapped in DataParallel."""
    text = f"CUDA_VISIBLE_DEVICES=0,1 python {path}\n"
    (found,) = Linter(SETTINGS, (folder,), all_rules()).check_launches(folder / "x.sh", text.encode()).launches
    return "DataParallel" in found.finding.message


def saves_beside(name: str, folder: Path) -> int:
    """How many saves on one rank are reported next to a configuration for FSDP of this name."""
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("distributed_type: FSDP\n")
    text = loop("if accelerator.is_main_process:\n    accelerator.save_state('x')")
    return len(Linter(SETTINGS, (folder,), all_rules()).check(folder / "train.py", text.encode()))


def is_own_project(name: str, folder: Path) -> int:
    """Whether a folder of this name with a `setup.py` is a project of its own."""
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "setup.py").touch()
    return int(ProjectFiles(SETTINGS, folder).project_of(folder / name) == folder / name)


def compared(name: str, folder: Path) -> int:
    """How many metrics of a run with one of this name are compared between ranks."""
    return len(metrics_of(Run([RankRecord(0, logs=[Log("wandb.log", {name: 1.0}, ())])])))


# --- programs ---------------------------------------------------------------------------------------------


class Case(NamedTuple):
    """The result of `ask` for a text in which the guess decides, and for a similar one in which it must not."""

    ask: Ask
    decides: str
    then: Any
    other: str
    otherwise: Any


GROUPED = """\
import wandb
from accelerate import Accelerator

accelerator = Accelerator()
wandb.init(project="x", name="best", group="{}")
"""
DRAW = """\
from datasets import load_dataset
from trl import SFTTrainer
rows = load_dataset("json", split="train")
{}
split = rows.train_test_split(test_size=0.1)
trainer = SFTTrainer("m", train_dataset=split["train"])
"""
ALL_ROWS = """\
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __init__(self, path, part):
        self.{0} = part
        self.rows = torch.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]{1}

def main(args, net, optimizer):
    model = DistributedDataParallel(net)
    for batch in DataLoader(Rows(args.path, torch.distributed.get_rank()), shuffle=True):
        {2}
        model(batch).backward()
        optimizer.step()
"""
DRAWN_PART = """\
from datasets import load_dataset
from trl import SFTTrainer
rows = load_dataset("json", split="train").train_test_split(test_size=0.1)
trainer = SFTTrainer("m", train_dataset=rows[args.{}])
"""
PREPARED = """\
from accelerate import Accelerator
from datasets import load_dataset
accelerator = Accelerator()
rows = load_dataset("json", split="train")
if not accelerator.is_main_process:
    {0}()
rows = rows.map(tokenize)
if accelerator.is_main_process:
    {0}()
"""
COUNTED_BY_ALL = """\
import torch
import torch.distributed as dist
def {0}(value):
    parts = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return torch.stack(parts)
dist.init_process_group("gloo")
rows = torch.ones(4) if dist.get_rank() == 0 else None
def total(rows):
    least = {0}(torch.tensor([0 if rows is None else len(rows)])).min()
    if least == 0:
        return None
    return rows.sum()
total(rows)
"""
LOOKED_FOR = """\
import os
from accelerate import Accelerator
from helpers import place_of, print_once, put_away
accelerator = Accelerator()
path = place_of("state")
if os.path.isfile(path):
    {}(path)
    accelerator.wait_for_everyone()
"""
DRAWN_NAME = """\
import argparse
import random
import torch
import torch.distributed as dist
args = argparse.ArgumentParser().parse_args()
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
random.seed({})
args.folder = f"out/{{random.random()}}"
torch.save(model.state_dict(), args.folder + "/last.pt")
"""
SHUFFLED = """\
from datasets import load_dataset
from transformers import Trainer
rows = load_dataset("json", split="train")
rows = rows if {} else rows.shuffle()
Trainer(model="m", train_dataset=rows)
"""
MAPPED = """from datasets import load_dataset
from somewhere import parsed
from transformers import Trainer

{0} = parsed()
data = load_dataset("a/b", split="train")
Trainer(train_dataset=data.map(lambda row: row["x"][: {0}.length])).train()
"""
RECORD = """\
from dataclasses import dataclass

from transformers import Trainer, TrainingArguments


@dataclass
class {0}:
    fits: bool


class Run:
    def __init__(self, stage: {0}):
        self.stage = stage

    def save(self):
        if not self.stage.fits:
            return
        open("last.json", "w").write("saved")


def main(stage: {0}):
    Trainer("model", TrainingArguments("out")).train()
    Run(stage).save()
"""
SETTING = """\
import os
from accelerate import Accelerator
def main({0}):
    accelerator = Accelerator()
    if {0}.{1}:
        return
    os.remove("x")
"""
BESIDE_SHARDED = """\
import argparse
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DistributedSampler
from torch.utils.tensorboard import SummaryWriter

def main(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=2)
    if args.{0}:
        return DistributedSampler(args.rows)
    else:
        SummaryWriter("logs")

parser = argparse.ArgumentParser()
parser.add_argument("--{0}", action="store_true")
mp.spawn(main, args=(parser.parse_args(),), nprocs=2)
"""
COMPARED = """\
import os
from accelerate import Accelerator
from options import flags
def main():
    accelerator = Accelerator()
    if flags.{} == "0":
        os.remove("x")
"""
PLACE = """\
import os
import torch.distributed as dist
class Saver:
    def set_up(self, {0}):
        self.{0} = {1}
    def save(self):
        dist.barrier()
        open(os.path.join(self.{0}, "x"), "w")
"""
TOKENIZER = """
from accelerate import Accelerator

class Run:
    def finish(self, args):
        accelerator = Accelerator()
        {}.save_pretrained(args.output_dir)
"""
PICTURE = """\
from accelerate import Accelerator

def main(thing):
    accelerator = Accelerator()
    thing.save("{}")
"""
COUNTED_BY = """\
import torch.distributed as dist
def save({0}):
    dist.barrier()
    open(f"checkpoint-{{{0}}}", "w")
"""
COUNTED_TO = """\
import os
from accelerate import Accelerator
from somewhere import count, started
accelerator = Accelerator()
{0} = count()
global_step = started()
if global_step == {0}:
    os.remove("x")
"""
KEPT_BY = """\
import os
import torch.distributed as dist
class Saver:
    def __init__(self, {0}=None):
        self.kept = {0}
    def save(self, folder):
        dist.barrier()
        if self.kept:
            os.remove("x")
"""
OF_ONE_KIND = "if mask.any():\n    x = accelerator.gather(loss)\nelse:\n    x = {}()"
PADDED = "from torch.nn.utils.rnn import pad_sequence\n"
LOGITS = PADDED + "from transformers import {}\n" + loop("x = accelerator.gather(model(**batch).logits)")
IN_HOOK = "def compute_loss(self, model, inputs, *args):\n    bare = self.accelerator.unwrap_model(model)\n"
SHARDED = IN_HOOK + "    with {}(bare):\n        return self.fused(inputs['x'], bare.lm_head.weight)"
SHOWN = "value = loss.item()\n{}\nwandb.log({{'loss': value}})"
AT_ITS_BINDING = "value = accelerator.gather("
HELPER = """\
def _mean(self, x):
    {}
    return self.accelerator.gather(x).mean()

def compute_loss(self, model, inputs, *args):
    if self.is_world_process_zero():
        print(self._mean(inputs["x"]))
    return super().compute_loss(model, inputs, *args)
"""
ON_MAIN = "if accelerator.is_main_process:\n    {}"
PIPELINE = (
    "from accelerate import Accelerator\nfrom diffusers import {0}\n"
    "unet = Accelerator().prepare(make())\n{0}.from_pretrained('x', unet=unet)\n"
)
DECODER = (FIXTURES / "bypassed_wrapper" / "broken_decoder.py").read_text()
COUNTED = (FIXTURES / "truncated_gather" / "broken_loop.py").read_text()
TRAINED = "from transformers import Trainer\ndef run({0}):\n    {0}.train()\nrun(Trainer())\n"
PREPARES = (
    "from accelerate import Accelerator\ndef run({0}, model, {1}):\n    {0}.prepare(model, {1})\nrun(Accelerator())\n"
)
FROZEN = (
    "from accelerate import Accelerator\nfrom transformers import AutoModel\naccelerator = Accelerator()\n"
    "model = AutoModel.from_pretrained('tiny')\nif input():\n    model.requires_grad_(False)\n"
    "model, *_ = accelerator.prepare(model, {})\nprint(model.config)\n"
)
FROZEN_LATE = (
    "from torch.nn.parallel import DistributedDataParallel\nfrom somewhere import build, {0}\n"
    "def train(loader):\n    model = DistributedDataParallel(build())\n    model.module.body.requires_grad_(False)\n"
    "    {0}(model)\n    for x in loader:\n        model(x).mean().backward()\n"
)

PART = (
    "from accelerate import Accelerator\nfrom somewhere import parts\naccelerator = Accelerator()\n"
    "{0} = accelerator.prepare(parts.one)\nprint({0}.config.steps)\n"
)
LOST = (
    "from accelerate import Accelerator\naccelerator = Accelerator()\n"
    "for {0} in made():\n    {0} = accelerator.prepare({0})\n"
)

GATHER = (
    "from accelerate import Accelerator\n{}\ndef total(rows):\n    {}\n    Accelerator().gather(rows.sum().item())\n"
)
RELATIVE = GATHER.format("from {} import one", "pass")

GIVEN_ACCELERATOR = """
import wandb
import accelerate

class Job:
    def __init__(self, {0}):
        self.accelerator = {0}

    def train(self, model, loader):
        model, loader = self.accelerator.prepare(model, loader)
        for batch in loader:
            wandb.log({{"loss": model(**batch).loss.item()}})
"""

TRAINED_ON_ALL = """\
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

class Runner:
    def __init__(self, rows, model):
        torch.manual_seed(0)
        self.{} = DataLoader(rows, shuffle=True)
        self.model = DistributedDataParallel(model)

    def step(self, x, y):
        loss = torch.nn.functional.cross_entropy(self.model(x), y)
        reveal_rank(loss)
        loss.backward()
"""

CASES = {
    "MAY_SYNCHRONISE": Case(
        rule("TRL006"), loop(OF_ONE_KIND.format("dummy_gather")), 0, loop(OF_ONE_KIND.format("zeros")), 1
    ),
    "MAY_REDUCE": Case(
        revealed, TRAINED_BY_UNKNOWN.format("reduced"), "unknown", TRAINED_BY_UNKNOWN.format("compute"), "local(data)"
    ),
    "EXCHANGES": Case(
        shown_by_default, REDUCED_ON_ONE_WAY.format("all_reduce"), 0, REDUCED_ON_ONE_WAY.format("log_reduce"), 1
    ),
    "GATHERS": Case(rule("TRL017"), COUNTED_BY_ALL.format("gather_all"), 0, COUNTED_BY_ALL.format("change_all"), 1),
    "MAY_WAIT": Case(rule("TRL012"), PREPARED.format("wait_for_others"), 0, PREPARED.format("tell_others"), 1),
    "ENDS_GROUP": Case(
        mended("TRL008", "if dist.get_rank() == 0:"),
        SAVED_AFTER.format("cleanup"),
        False,
        SAVED_AFTER.format("report"),
        True,
    ),
    "MAIN_PROCESS": Case(
        revealed,
        "def f(thing):\n    reveal_rank(thing.is_rank_0)\nf(here())",
        "local(rank)",
        "def f(thing):\n    reveal_rank(thing.is_ranked)\nf(here())",
        "unknown",
    ),
    "RANK_NUMBER": Case(
        revealed,
        "from somewhere import comm\nreveal_rank(comm.get_local_rank())",
        "local(rank)",
        "from somewhere import lora\nreveal_rank(lora.rank())",
        "unknown",
    ),
    "RANK_FIELD": Case(
        revealed,
        "from somewhere import setup\nargs = setup()\nreveal_rank(args.rank % 8 == 0)",
        "local(rank)",
        "from somewhere import setup\nargs = setup()\nreveal_rank(args.rank == 8)",
        "unknown",
    ),
    "RANK_OF_MATRICES": Case(
        revealed,
        "from somewhere import setup\nargs = setup()\nreveal_rank(args.lora.rank == 0)",
        "unknown",
        "from somewhere import setup\nargs = setup()\nreveal_rank(args.group.rank == 0)",
        "local(rank)",
    ),
    "WORLD_FIELD": Case(
        revealed,
        "from somewhere import setup\nargs = setup()\nif args.world_size == 1:\n    reveal_rank(1)",
        "never",
        "from somewhere import setup\nargs = setup()\nif args.world == 1:\n    reveal_rank(1)",
        "same",
    ),
    "COUNTS_PROCESSES": Case(
        rule("TRL020"),
        STEPS.format("args.num_gpus"),
        0,
        STEPS.format("1"),
        1,
    ),
    "RANK_OF_GROUP": Case(
        rule("TRL006"),
        OF_GROUP.format("tensor_rank", "tensor_size"),
        0,
        OF_GROUP.format("first_in_tensor", "tensor_size"),
        1,
    ),
    "SIZE_OF_GROUP": Case(
        rule("TRL006"),
        OF_GROUP.format("tensor_rank", "tensor_size"),
        0,
        OF_GROUP.format("tensor_rank", "data_size"),
        1,
    ),
    "ONE_PROCESS_FIELD": Case(
        revealed,
        "from somewhere import setup\nargs = setup()\nif args.single_gpu:\n    reveal_rank(1)",
        "never",
        "from somewhere import setup\nargs = setup()\nif args.single_pass:\n    reveal_rank(1)",
        "same",
    ),
    "MAY_ASK_FOR_RANK": Case(rule("TRL008"), COMPARED.format("proc_id"), 0, COMPARED.format("mode"), 1),
    "ARGUMENTS_WITH_RANK": Case(rule("TRL012"), MAPPED.format("training_args"), 0, MAPPED.format("data_args"), 1),
    "SETTINGS_CLASS": Case(rule("TRL008"), RECORD.format("RunSettings"), 1, RECORD.format("RunState"), 0),
    "SETTINGS_OBJECT": Case(
        rule("TRL008"), SETTING.format("train_args", "plain"), 1, SETTING.format("thing", "plain"), 0
    ),
    "RESUMES": Case(rule("TRL025"), RESUMED.format("resume_from"), 1, RESUMED.format("pretrained"), 0),
    "SHARED_PATH": Case(rule("TRL008"), PLACE.format("output_dir", "x"), 1, PLACE.format("thing", "x"), 0),
    "RANK_LOCAL_PATH": Case(
        rule("TRL008"), PLACE.format("output_dir", "given(rank)"), 0, PLACE.format("output_dir", "given(x)"), 1
    ),
    "GROUP_OF_RANKS": Case(rule("TRL008"), GROUPED.format("DDP"), 0, GROUPED.format("ablation"), 1),
    "PICTURE_FILE": Case(rule("TRL008"), PICTURE.format("x.png"), 1, PICTURE.format("x.bin"), 0),
    "SAVED_TOKENIZER": Case(
        rule("TRL008"), TOKENIZER.format("self.hf_tokenizer"), 1, TOKENIZER.format("self.adapter"), 0
    ),
    "COUNTER": Case(rule("TRL008"), COUNTED_BY.format("epoch"), 1, COUNTED_BY.format("which"), 0),
    "LAST_COUNT": Case(rule("TRL008"), COUNTED_TO.format("total_train_steps"), 1, COUNTED_TO.format("which"), 0),
    "KEPT_COUNT": Case(rule("TRL008"), KEPT_BY.format("keep_last"), 1, KEPT_BY.format("which"), 0),
    "SETTING_OF_RANK": Case(rule("TRL008"), SETTING.format("args", "gpu"), 0, SETTING.format("args", "plain"), 1),
    "SHOWS_PATH": Case(rule("TRL006"), LOOKED_FOR.format("print_once"), 0, LOOKED_FOR.format("put_away"), 1),
    "LAUNCHER_CONSTANT": Case(
        revealed,
        "from somewhere import LOCAL_RANK\nreveal_rank(LOCAL_RANK)",
        "local(rank)",
        "from somewhere import LORA_RANK\nreveal_rank(LORA_RANK)",
        "same",
    ),
    "JOB_SETTING": Case(
        revealed_beside,
        'one_rank = int(os.environ["WORLD_SIZE"]) == 1',
        "never",
        'solo = int(os.environ["WORLD_SIZE"]) == 1',
        "same",
    ),
    "DISTRIBUTED_SETTING": Case(
        rule("TRL008"), BESIDE_SHARDED.format("distributed"), 0, BESIDE_SHARDED.format("distributed_eval"), 1
    ),
    "NOT_A_NUMBER": Case(
        diverges_by_default,
        loop("if torch.isnan(mask).any():\n    accelerator.gather(loss)"),
        0,
        loop("if torch.sum(mask).any():\n    accelerator.gather(loss)"),
        1,
    ),
    "TRAINED_NUMBER": Case(
        diverges_by_default,
        loop("loss = mask.sum()\nif torch.isnan(loss):\n    accelerator.gather(loss)"),
        1,
        loop("rows = mask.sum()\nif torch.isnan(rows):\n    accelerator.gather(loss)"),
        0,
    ),
    "NAMES_ENGINE": Case(
        rule("TRL002"),
        loop("if use_deepspeed:\n    model.config.use_cache = False"),
        0,
        loop("if use_amp:\n    model.config.use_cache = False"),
        1,
    ),
    "MAY_ASK_FOR_WRAPPER": Case(
        rule("TRL002"), WRAPPED_ELSEWHERE.format("parallel"), 0, WRAPPED_ELSEWHERE.format("verbose"), 1
    ),
    "TEST_FOLDER": Case(saves_beside, "tests/fsdp.yaml", 0, "configs/fsdp.yaml", 1),
    "SOURCE_FOLDER": Case(is_own_project, "src", 0, "examples", 1),
    "TORCH_DISTRIBUTED": Case(
        surroundings,
        "import torch.distributed as dist\n",
        Surroundings.TORCH,
        "import torch.nn as nn  # not torch.distributed\n",
        Surroundings.ACCELERATE,
    ),
    "READS_FILE": Case(
        mended("TRL008", "accelerator.wait_for_everyone()"),
        loop('torch.save(model, "x.pt")\nload_part("x.pt")'),
        True,
        loop('torch.save(model, "x.pt")\nshow("x.pt")'),
        False,
    ),
    "BEFORE_ACCELERATE": Case(
        surroundings,
        "_use_native_amp = True\n",
        Surroundings.TORCH,
        "_use_native_amp = True\naccelerator = None\n",
        Surroundings.ACCELERATE,
    ),
    "HARMLESS": Case(is_looked_at, "from .ctrl import gather\n", False, "from trl import gather\n", True),
    "PACKAGE_CHECK": Case(
        revealed,
        "from somewhere import is_wandb_available\nreveal_rank(is_wandb_available())",
        "same",
        "from somewhere import is_wandb_running\nreveal_rank(is_wandb_running())",
        "unknown",
    ),
    "IS_LOADER": Case(
        revealed, TRAINED_ON_ALL.format("train_loader"), "unknown", TRAINED_ON_ALL.format("batches"), "local(data)"
    ),
    "SEEDS_ALL": Case(rule("TRL015"), DRAW.format("make_reproducible()"), 0, DRAW.format("make_ready()"), 1),
    "SETS_UP": Case(rule("TRL015"), DRAW.format("parse_args()"), 0, DRAW.format("environment_setup()"), 1),
    "SEED_ARGUMENT": Case(rule("TRL015"), DRAW.format("begin(seed=3)"), 0, DRAW.format("begin(speed=3)"), 1),
    "SEEDS_APART": Case(rule("TRL008"), DRAWN_NAME.format("7 + worker_id"), 0, DRAWN_NAME.format("args.seed"), 1),
    "ASKS_FOR_SEED": Case(
        rule("TRL015"),
        SHUFFLED.format("fixed_seed"),
        0,
        SHUFFLED.format("fixed_order"),
        1,
    ),
    "SEED_VARIABLE": Case(
        mended("TRL015", "seed="), DRAW.format("random_seed = 3"), True, DRAW.format("random_size = 3"), False
    ),
    "SPLIT": Case(rule("TRL015"), DRAWN_PART.format("train_split"), 1, DRAWN_PART.format("first_row"), 0),
    "KNOWS_SHARES": Case(
        rule("TRL021"),
        ALL_ROWS.format("device", ".shard", "print(batch)"),
        0,
        ALL_ROWS.format("device", ".start", "print(batch)"),
        1,
    ),
    "SAYS_DISTRIBUTED": Case(
        rule("TRL003"),
        SHARED_BY_TIMM.format("distributed"),
        1,
        SHARED_BY_TIMM.format("training"),
        0,
    ),
    "NAMES_DEVICE": Case(
        rule("TRL021"),
        ALL_ROWS.format("device", "", "print(batch)"),
        1,
        ALL_ROWS.format("part", "", "print(batch)"),
        0,
    ),
    "SHARES_ROWS": Case(
        rule("TRL021"),
        ALL_ROWS.format("device", "", "batch = batch[args.rank :: 2]"),
        0,
        ALL_ROWS.format("device", "", "batch = batch[args.first :: 2]"),
        1,
    ),
    "MODEL_CLASS": Case(
        is_model, "transformers.AutoModelForCausalLM", True, "transformers.DataCollatorForLanguageModeling", False
    ),
    "NOISE_SCHEDULER": Case(
        revealed,
        loop("reveal_rank(DDPMScheduler().add_noise(batch['x'], noise))").replace(
            "import torch\n", "import torch\nfrom diffusers import DDPMScheduler\n"
        ),
        "shard",
        loop("reveal_rank(DDPMSchedule().add_noise(batch['x'], noise))").replace(
            "import torch\n", "import torch\nfrom diffusers import DDPMSchedule\n"
        ),
        "unknown",
    ),
    "SCHEDULER_OBJECT": Case(rule("TRL002"), PART.format("noise_scheduler"), 0, PART.format("denoiser"), 1),
    "LOSS_MODULE": Case(rule("TRL002"), PART.format("mel_loss"), 0, PART.format("denoiser"), 1),
    "PREPARED_WITH_MODEL": Case(rule("TRL002"), FROZEN.format("optimizer"), 1, FROZEN.format("optimizer, critic"), 0),
    "PREPARED_MODEL": Case(rule("TRL009"), LOST.format("critic_model"), 1, LOST.format("sampler"), 0),
    "PIPELINE": Case(
        rule("TRL002"),
        PIPELINE.format("StableDiffusionPipeline"),
        1,
        PIPELINE.format("StableDiffusionPipes"),
        0,
    ),
    "PIPELINE_HELPER": Case(
        revealed,
        loop("reveal_rank(FluxPipeline._pack_latents(batch['x']))").replace(
            "import torch\n", "import torch\nfrom diffusers import FluxPipeline\n"
        ),
        "shard",
        loop("reveal_rank(FluxPipeline.download(batch['x']))").replace(
            "import torch\n", "import torch\nfrom diffusers import FluxPipeline\n"
        ),
        "unknown",
    ),
    "LOADED_ALIKE": Case(
        revealed,
        "from transformers import BertTokenizer\nreveal_rank(BertTokenizer.from_pretrained('x'))",
        "same",
        "from transformers import BertTokens\nreveal_rank(BertTokens.from_pretrained('x'))",
        "unknown",
    ),
    "PART_OF_MODEL": Case(rule("TRL009"), DECODER, 2, DECODER.replace(".get_", ".got_"), 0),
    "LOSS_CLASS": Case(
        mended("TRL003", ".mean()"),
        loop("wandb.log({'x': torch.nn.CrossEntropyLoss()(batch['x'], mask)})"),
        True,
        loop("wandb.log({'x': torch.nn.CosineSimilarity()(batch['x'], mask)})"),
        False,
    ),
    "LOSS_FUNCTION": Case(
        mended("TRL003", ".mean()"),
        loop("wandb.log({'x': torch.nn.functional.cross_entropy(batch['x'], mask)})"),
        True,
        loop("wandb.log({'x': torch.nn.functional.cosine_similarity(batch['x'], mask)})"),
        False,
    ),
    "GATHERS_PARAMETERS": Case(
        rule("TRL013", "fsdp"),
        trainer(SHARDED.format("gather_weights")),
        0,
        trainer(SHARDED.format("watch_weights")),
        1,
    ),
    "GENERATES_TEXT": Case(
        rule("TRL003"),
        loop("texts = llm.generate(batch['prompt'])\nx = [len(t) for t in texts]\nwandb.log({'length': sum(x) / 4})"),
        1,
        loop("texts = llm.fetch(batch['prompt'])\nx = [len(t) for t in texts]\nwandb.log({'length': sum(x) / 4})"),
        0,
    ),
    "ACCELERATOR": Case(
        rule("TRL003"),
        GIVEN_ACCELERATOR.format("accelerator"),
        1,
        GIVEN_ACCELERATOR.format("distributor"),
        0,
    ),
    "GENERATION_SETTING": Case(
        rule("TRL005"),
        loop("made = load().generate(**batch, do_sample=False)\naccelerator.gather(made)"),
        1,
        loop("made = load().generate(**batch, sampler=False)\naccelerator.gather(made)"),
        0,
    ),
    "RETURNS_TENSORS": Case(
        rule("TRL003"),
        loop("made = encode(batch['text'], return_tensors='pt')\nwandb.log({'length': made['x'].sum()})"),
        1,
        loop("made = encode(batch['text'], return_ids='pt')\nwandb.log({'length': made['x'].sum()})"),
        0,
    ),
    "PICKS_ROWS": Case(
        rule("TRL003"),
        SHARED_BY_HAND.format("shard"),
        1,
        SHARED_BY_HAND.format("reshape"),
        0,
    ),
    "PADS_ROWS": Case(
        rule("TRL006"),
        DEALT_BY_HAND.format("pad_rows"),
        0,
        DEALT_BY_HAND.format("read_rows"),
        1,
    ),
    "REWARDED": Case(
        rule("TRL003"),
        loop("found = score(prompts=batch['prompt'], completions=batch['text'])\nwandb.log({'x': sum(found) / 4})"),
        1,
        loop("found = score(prompts=batch['prompt'], outputs=batch['text'])\nwandb.log({'x': sum(found) / 4})"),
        0,
    ),
    "CALLED_MODEL": Case(
        rule("TRL003"),
        loop("found = options.reward_model(batch['x'])\nwandb.log({'x': found.mean().item()})"),
        1,
        loop("found = options.measured(batch['x'])\nwandb.log({'x': found.mean().item()})"),
        0,
    ),
    "SIMULATOR": Case(
        rule("TRL003"),
        loop("_, reward, *_ = options.env.step(batch['x'])\nwandb.log({'x': reward.mean().item()})"),
        1,
        loop("_, reward, *_ = options.shared.step(batch['x'])\nwandb.log({'x': reward.mean().item()})"),
        0,
    ),
    "PART_OF_FORWARD": Case(
        rule("TRL003"),
        loop("found = options.first_stage_model.encode(batch['x'])\nwandb.log({'x': found.mean().item()})"),
        1,
        loop("found = options.first_stage_model.measure(batch['x'])\nwandb.log({'x': found.mean().item()})"),
        0,
    ),
    "CALLED_LOSS": Case(
        rule("TRL003"),
        loop("found = options.loss_fn(batch['x'], batch['y'])\nwandb.log({'x': found.item()})"),
        1,
        loop("found = options.distance(batch['x'], batch['y'])\nwandb.log({'x': found.item()})"),
        0,
    ),
    "CONTRASTED": Case(
        rule("TRL003"),
        loop("found = options.loss_fn(batch['x'], image_features=batch['y'])\nwandb.log({'x': found.item()})"),
        0,
        loop("found = options.loss_fn(batch['x'], labels=batch['y'])\nwandb.log({'x': found.item()})"),
        1,
    ),
    "LEARNED_SCALE": Case(
        rule("TRL003"),
        loop("a, b, logit_scale_a = model(**batch)\nwandb.log({'scale': logit_scale_a.mean().item()})"),
        0,
        loop("a, b, logits_a = model(**batch)\nwandb.log({'logits': logits_a.mean().item()})"),
        1,
    ),
    "MAKES_INPUTS": Case(
        rule("TRL009"),
        trainer(
            "def compute_loss(self, model, inputs):\n    part = self.model.head_tokenizer\n    return part(inputs).loss"
        ),
        0,
        trainer(
            "def compute_loss(self, model, inputs):\n    part = self.model.head_tokens\n    return part(inputs).loss"
        ),
        1,
    ),
    "PADDED_FIELD": Case(
        rule("TRL005"),
        loop("x = accelerator.gather(batch['query_input_ids'])") + PADDED,
        1,
        loop("x = accelerator.gather(batch['query_scores'])") + PADDED,
        0,
    ),
    "PADDED_LABELS": Case(
        rule("TRL005"),
        loop("x = accelerator.gather(batch['chosen_labels'])") + PADDED,
        1,
        loop("x = accelerator.gather(batch['class_labels'])") + PADDED,
        0,
    ),
    "PADS_LABELS": Case(
        rule("TRL005"),
        loop("x = accelerator.gather(batch['labels'])") + PADDED + "models = T5ForConditionalGeneration, "
        "DataCollatorForSeq2Seq\n",
        1,
        loop("x = accelerator.gather(batch['labels'])") + PADDED + "models = T5ForConditionalGeneration, "
        "DataCollatorForMultipleChoice\n",
        0,
    ),
    "FIXED_LENGTHS": Case(
        rule("TRL005"),
        loop("x = accelerator.gather(batch['input_ids'])") + PADDED + "block_size = 128\n",
        0,
        loop("x = accelerator.gather(batch['input_ids'])") + PADDED + "size = 128  # no block_size\n",
        1,
    ),
    "RANK_LOCAL_LENGTHS": Case(
        rule("TRL005"),
        loop("x = accelerator.gather(batch['input_ids'])") + PADDED,
        1,
        loop("x = accelerator.gather(batch['input_ids'])") + PADDED.replace("pad_sequence", "pack_sequence"),
        0,
    ),
    "TOKEN_MODELS": Case(
        rule("TRL005"), LOGITS.format("GPT2LMHeadModel"), 1, LOGITS.format("GPT2ForSequenceClassification"), 0
    ),
    "SAMPLE_MODELS": Case(
        rule("TRL005"),
        LOGITS.format("AutoModelForCausalLM, AutoModelForSequenceClassification"),
        0,
        LOGITS.format("AutoModelForCausalLM, AutoTokenizer"),
        1,
    ),
    "MAY_WRAP": Case(rule("TRL009"), BESIDE.format("wrap_in_place"), 0, BESIDE.format("set_up"), 1),
    "NAMES_GRADIENTS": Case(rule("TRL009"), EXCHANGED.format("params"), 0, EXCHANGED.format("rows"), 1),
    "AVERAGES_WEIGHTS": Case(rule("TRL009"), LOCAL_STEPS.format("average_weights"), 0, LOCAL_STEPS.format("show"), 1),
    "MAY_FREEZE": Case(rule("TRL031"), FROZEN_LATE.format("unfreeze"), 0, FROZEN_LATE.format("show"), 1),
    "COMPUTES_GRADIENTS": Case(rule("TRL014"), COUNTED, 1, COUNTED.replace(".backward(", ".evaluate("), 0),
    "SHOWS": Case(
        mended("TRL003", AT_ITS_BINDING),
        loop(SHOWN.format("console.set_postfix(value)")),
        True,
        loop(SHOWN.format("console.train_on(value)")),
        False,
    ),
    "KEEPS": Case(
        mended("TRL003", AT_ITS_BINDING),
        loop(SHOWN.format("history.append(value)")),
        True,
        loop(SHOWN.format("history.train_on(value)")),
        False,
    ),
    "RECORDS": Case(
        mended("TRL003", AT_ITS_BINDING),
        loop(SHOWN.format("recorder.add(value)")),
        True,
        loop(SHOWN.format("recorder.train_on(value)")),
        False,
    ),
    "COMPUTES_ONLY": Case(
        mended("TRL006", "\n        both = np.stack"),
        loop(ON_MAIN.format("both = np.stack(loss)\n    print(accelerator.gather(both))")),
        True,
        loop(ON_MAIN.format("both = db.stack(loss)\n    print(accelerator.gather(both))")),
        False,
    ),
    "SWITCHES_MODE": Case(
        mended("TRL006", "\n        mean_result = self._mean"),
        trainer(HELPER.format("self.model.eval()")),
        True,
        trainer(HELPER.format("self.model.tune()")),
        False,
    ),
    "SCALES_A_LOSS": Case(revealed, SCALED.format("scale"), "local(data)", SCALED.format("count"), "unknown"),
    "KEEPS_NONE_OF_IT": Case(shown_by_default, TOLD_THE_LOSS.format("add_scalar"), 1, TOLD_THE_LOSS.format("keep"), 0),
    "KEEPS_ITS_ARGUMENT": Case(
        rule("TRL003"),
        loop("loss = loss.mean()\noptimizers.backward(loss)\nwandb.log({'loss': loss})"),
        1,
        loop("loss = loss.mean()\noptimizers.combine(loss)\nwandb.log({'loss': loss})"),
        0,
    ),
    "CHANGES_IN_PLACE": Case(
        mended("TRL006", "gathered_loss = "),
        loop(ON_MAIN.format("torch.relu_(loss)\n    print(accelerator.gather(loss))")),
        False,
        loop(ON_MAIN.format("torch.relu(loss)\n    print(accelerator.gather(loss))")),
        True,
    ),
    "CONFIG_OBJECT": Case(changed, "model_config.depth = 2", ["depth"], "model_options.depth = 2", []),
    "MODEL_OBJECT": Case(changed, "self.ref_model.config = other", ["*"], "self.args.config = other", []),
    "CLOCK_METRIC": Case(compared, "step_time", 0, "timestep", 1),
    "METRIC_OF_ONE_RANK": Case(compared, "rank_0/loss", 0, "ranking/loss", 1),
    "COST_OF_MODEL": Case(
        rule("TRL003"),
        loop(SHOWN.format("").replace("'loss'", "'gflops_per_sample'")),
        0,
        loop(SHOWN.format("").replace("'loss'", "'flops_loss'")),
        1,
    ),
    "TRAINER_CLASS": Case(
        trained_with,
        "from trl import MyTrainer\nMyTrainer().train()\n",
        "MyTrainer",
        "from trl import MyTraining\nMyTraining().train()\n",
        "",
    ),
    "TRAINER_OBJECT": Case(trained_with, TRAINED.format("my_trainer"), "Trainer", TRAINED.format("model"), ""),
    "ACCELERATOR_OBJECT": Case(
        trained_with,
        PREPARES.format("accelerator", "optimizer"),
        "Accelerator",
        PREPARES.format("fabric", "optimizer"),
        "",
    ),
    "OPTIMIZER_OBJECT": Case(
        trained_with,
        PREPARES.format("accelerator", "optim_g"),
        "Accelerator",
        PREPARES.format("accelerator", "rows"),
        "",
    ),
    "TRL_SCRIPT": Case(is_known_script, "examples/scripts/sft.py", True, "scripts/sft.py", False),
    "TRANSFORMERS_SCRIPT": Case(
        is_known_script,
        "examples/pytorch/language-modeling/run_clm.py",
        True,
        "examples/pytorch/run_clm_flax.py",
        False,
    ),
    "LOOP_SCRIPT": Case(harm, "examples/scripts/ppo/ppo.py", False, "examples/scripts/sft.py", True),
    "TOOL_SCRIPT": Case(is_start, "python setup.py", False, "python set_up.py", True),
    "INTERPRETER_VARIABLE": Case(is_start, "${PYTHON_BIN} x.py", True, "${TOOL_BIN} x.py", False),
    "LAUNCHER_ARGUMENT": Case(
        told_gpus, "python x.py --num_gpus 4", "OWN_LAUNCHER", "python x.py --num_gpus-hours 4", "UNKNOWN"
    ),
    "FILE_TO_BE_CHOSEN": Case(
        configuration,
        "```bash\naccelerate launch --config_file path/to/your.yaml x.py\n```\n",
        "",
        "```bash\naccelerate launch --config_file path/two.yaml x.py\n```\n",
        "path/two.yaml",
    ),
    "GPU_INDEX_ARGUMENT": Case(is_one_of_several, "python x.py --gpu 0", False, "python x.py --gpus 0", True),
    "GPU_COUNT_ARGUMENT": Case(
        gets_one_gpu, "python x.py trainer.gpus=1", True, "python x.py trainer.gpus_used=1", False
    ),
    "NODE_COUNT_ARGUMENT": Case(
        gets_one_gpu, "python x.py --gpus 1 --num_nodes 4", False, "python x.py --gpus 1 --num_nodes_of_tree 4", True
    ),
    "PLACEMENT_ARGUMENT": Case(
        told_gpus, "python x.py --load_in_8bit", "OWN_LAUNCHER", "python x.py --load_in_bf16", "UNKNOWN"
    ),
    "CPU_ARGUMENT": Case(told_gpus, "python x.py --no_cuda", "CPU", "python x.py --no_cuda_graphs", "UNKNOWN"),
    "TRAIN_ARGUMENT": Case(may, "python x.py --do_eval --do_train", True, "python x.py --do_eval --do_training", False),
    "NO_TRAIN_ARGUMENT": Case(may, "python x.py --eval_only", False, "python x.py --eval_steps 5", True),
    "TRIAL_RUN": Case(draws_by_default, DRAWS_IF.format("debug"), 0, DRAWS_IF.format("shuffle"), 1),
    "SETTINGS_OPTION": Case(
        may_ask, "python x.py --config_file x.json", True, "python x.py --queries_file x.json", False
    ),
    "HOSTED_RUNNER": Case(told_gpus_of_job, "ubuntu-latest", "CPU", "ubuntu-gpu", "UNKNOWN"),
    "ASKS_FOR_GPUS": Case(
        told_condition,
        "if [ $N_GPUS = 1 ]; then\npython x.py\nfi",
        "if [ $N_GPUS = 1 ];",
        "if [ $FAST = 1 ]; then\npython x.py\nfi",
        "",
    ),
    "ONE_GPU_NOTE": Case(told_gpus, "# on a single GPU\npython x.py", "ONE", "# on 4 GPUs\npython x.py", "UNKNOWN"),
    "NAMES_LAUNCHER": Case(
        told_gpus, "# with more: torchrun x.py\npython x.py", "ONE", "# with more: run x.py\npython x.py", "UNKNOWN"
    ),
    "SEVERAL_GPUS_NOTE": Case(
        told_gpus, "# on one GPU or multiple\npython x.py", "UNKNOWN", "# on one GPU or so\npython x.py", "ONE"
    ),
    "COPIED_LIBRARY": Case(stays_by_default_in, "trl", 0, "trlx", 1),
    "FOLDER_OF_COPIES": Case(stays_by_default_in, "third_party/own", 0, "parties/own", 1),
    "OWN_FOLDER": Case(stays_by_default, RELATIVE.format("utils.losses"), 0, RELATIVE.format("losses.utils"), 1),
    "MADE_IN_BUILDS": Case(stays_by_default, RELATIVE.format("._version"), 1, RELATIVE.format("..utils.versions"), 0),
}


def forget() -> None:
    """What is remembered of a text may have been found out with other guesses."""
    LAST.clear()
    TREES.clear()


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    forget()


def taken_away(monkeypatch: pytest.MonkeyPatch, guess: Guess) -> None:
    """Make the guess ineffective for every name."""
    forget()
    for remembering in (judge._by_note, judge._by_comment, judge._mentions_gpus):
        remembering.cache_clear()
    for method, nothing in (("fits", False), ("found_in", False), ("values", None)):
        monkeypatch.setattr(Guess, method, without(guess, getattr(Guess, method), nothing))
    blank = Guess.blanked
    monkeypatch.setattr(Guess, "blanked", lambda each, text: text if each is guess else blank(each, text))


def without(guess: Guess, known: Callable[..., Any], nothing: Any) -> Callable[..., Any]:
    return lambda each, text: nothing if each is guess else known(each, text)


def test_every_guess_has_a_case_and_every_case_a_guess():
    assert sorted(CASES) == sorted(GUESSES)


@pytest.mark.parametrize("name", CASES)
def test_it_decides(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    case = CASES[name]
    assert case.ask(case.decides, tmp_path) == case.then
    taken_away(monkeypatch, GUESSES[name])
    assert case.ask(case.decides, tmp_path) != case.then


@pytest.mark.parametrize("name", CASES)
def test_it_does_not_decide(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    case = CASES[name]
    assert case.then != case.otherwise
    assert case.ask(case.other, tmp_path) == case.otherwise
    taken_away(monkeypatch, GUESSES[name])
    assert case.ask(case.other, tmp_path) == case.otherwise


@pytest.mark.parametrize("name", GUESSES)
def test_it_says_what_for_and_why(name: str):
    guess = GUESSES[name]
    assert guess.says.endswith(".") and len(guess.because) > 8 and guess.group
    assert bool(guess.pattern) != bool(guess.words)
