"""Code that is known to run on one process, by how it is built or called: its findings are only reported on request."""

from __future__ import annotations

import pytest
from snippets import loop
from started import MAIN, by_default_in, findings_in

WRITES = loop('open("losses.txt", "w")')

TESTS = """
import torch
from accelerate import Accelerator
{imports}

class Training({base}):
    def test_step(self):
        model = Accelerator().prepare(make_model())
        model.enable_adapters()
        model(torch.ones(1)).loss.backward()
"""


@pytest.mark.parametrize(
    ("base", "imports", "by_default"),
    [
        ("unittest.TestCase", "import unittest", False),
        ("unittest.TestCase", "import unittest, torch.multiprocessing as mp\n\ndef run(): mp.spawn(run)\n", True),
        ("BasePredictor", "from cog import BasePredictor", False),
        ("BasePredictor", "from cog import BasePredictor\n\ndef run(): mp.spawn(run)\n", True),
        ("BasePredictor", "from serving import BasePredictor", True),
        ("MultiProcessTestCase", "from torch.testing._internal.common_distributed import MultiProcessTestCase", True),
        ("object", "", True),
    ],
)
def test_a_unit_test_or_a_served_model_is_run_by_one_process(base, imports, by_default, tmp_path):
    text = TESTS.format(base=base, imports=imports)
    assert by_default_in(tmp_path, {"training.py": text}, "training.py", "TRL002") is by_default


BUILDS = "import hydra\n\ndef train(cfg):\n    hydra.utils.instantiate(cfg.task).run()\n" + MAIN
TASK = "task:\n  _target_: tasks.Training\n"


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK}, False),
        ({"run.sh": "python main.py\n", "conf/task.yaml": '- "_target_": "own.tasks.Training"  # one\n'}, False),
        # Nothing says that hydra builds it, or it builds another one.
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK.replace("_target_", "# _target_")}, True),
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK.replace("tasks", "others")}, True),
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK, "main.py": MAIN}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 main.py\n", "conf/task.yaml": TASK}, True),
        ({"run.sh": "python main.py\ntorchrun --nproc_per_node 8 main.py\n", "conf/task.yaml": TASK}, True),
    ],
)
def test_what_hydra_builds_is_a_part_of_the_program_that_has_it_built(files, by_default, tmp_path):
    assert by_default_in(tmp_path, {"tasks.py": WRITES, "main.py": BUILDS, **files}, "tasks.py") is by_default


PROGRAM = {"train.py": WRITES + MAIN}
LAUNCH = "accelerate launch --main_process_port $PORT train.py\n"


@pytest.mark.parametrize(
    ("script", "by_default"),
    [
        ("GPU_ID=$1\nPORT=$((29500 + GPU_ID))\nCUDA_VISIBLE_DEVICES=$GPU_ID " + LAUNCH, False),
        ('PORT=$((9 + GPU))\nRUN="CUDA_VISIBLE_DEVICES=$GPU accelerate launch train.py"\neval "$RUN"\n', False),
        ('PORT=$(( 29500 + $GPU ))\nexport CUDA_VISIBLE_DEVICES="${GPU}"\n' + LAUNCH, False),
        ("for gpu in 0 1 2 3; do\n  CUDA_VISIBLE_DEVICES=$gpu " + LAUNCH + "done\n", False),
        ("for gpu in {0..7}; do\n  CUDA_VISIBLE_DEVICES=${gpu} " + LAUNCH + "done\n", False),
        ("GPUS=(0 1 2)\nCUDA_VISIBLE_DEVICES=${GPUS[$i]} " + LAUNCH, False),
        # It may be a list.
        ("GPU_ID=$1\nPORT=$((29500 + OTHER))\nCUDA_VISIBLE_DEVICES=$GPU_ID " + LAUNCH, True),
        ("GPUS=(0,1 2,3)\nCUDA_VISIBLE_DEVICES=${GPUS[$i]} " + LAUNCH, True),
        ("GPUS=(0 1 2)\nCUDA_VISIBLE_DEVICES=${GPUS[@]} " + LAUNCH, True),
        ("for gpus in 0,1 2,3; do\n  CUDA_VISIBLE_DEVICES=$gpus " + LAUNCH + "done\n", True),
        ("PORT=$((29500 + GPU))\nCUDA_VISIBLE_DEVICES=$GPU,7 " + LAUNCH, True),
        ("PORT=$((29500 + A))\nCUDA_VISIBLE_DEVICES=$A " + LAUNCH + "CUDA_VISIBLE_DEVICES=$B " + LAUNCH, True),
        ("PORT=$((29500 + GPU))\nCUDA_VISIBLE_DEVICES=$GPU torchrun --nproc_per_node $N train.py\n", True),
        # One GPU, and a variable that says one process.
        ("N=1\nCUDA_VISIBLE_DEVICES=3 torchrun --nproc_per_node=$N train.py\n", False),
        ("N=1\ngpu=3\nCUDA_VISIBLE_DEVICES=$gpu torchrun --nnodes=$N --nproc_per_node=$N train.py\n", False),
        ("N=1\nCUDA_VISIBLE_DEVICES=2,3 torchrun --nproc_per_node=$N train.py\n", True),
        ("N=1\nCUDA_VISIBLE_DEVICES=3 torchrun --nnodes=2 --nproc_per_node=$N train.py\n", True),
        ("N=1\ntorchrun --nproc_per_node=$N train.py\n", True),
    ],
)
def test_a_launch_that_sees_one_gpu_is_of_one_process(script, by_default, tmp_path):
    assert by_default_in(tmp_path, {**PROGRAM, "run.sh": script}, "train.py") is by_default


@pytest.mark.parametrize(("gpus", "by_default"), [("7", False), ("6,7", True)])
@pytest.mark.parametrize("wrapper", ["", "nohup ", "proxychains4 "])
def test_a_launch_in_a_sentence_may_be_wrapped(wrapper, gpus, by_default, tmp_path):
    text = f"I ran\nCUDA_VISIBLE_DEVICES={gpus} {wrapper}accelerate launch train.py --epochs 3\n"
    assert by_default_in(tmp_path, {**PROGRAM, "notes.md": text}, "train.py") is by_default


ONE = "CUDA_VISIBLE_DEVICES=3 accelerate launch other.py\n"


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": ONE}, False),
        ({"run.sh": ONE, "theirs/train.py": "mp.spawn(train)\n" + MAIN}, False),
        ({"run.sh": ONE, "more.py": "mp.spawn(train)\n" + MAIN}, True),
        ({"run.sh": ONE + "torchrun --nproc_per_node 8 theirs/train.py\n"}, True),
        ({"run.sh": ONE.replace("other.py", "theirs/train.py"), "theirs/train.py": MAIN}, True),
    ],
)
def test_a_program_that_nothing_starts_is_started_as_those_beside_it(files, by_default, tmp_path):
    files = {**PROGRAM, "other.py": MAIN, **files}
    assert by_default_in(tmp_path, files, "train.py") is by_default


LAUNCHER = """
import os
import subprocess
import sys
import torch

def launch(gpus, script):
    with open("hosts.txt", "w") as hosts:
        hosts.write("localhost")
    {command}

def train(gpus, script):
    if "--started" not in sys.argv:
        launch(gpus, script)
        sys.exit()
    torch.distributed.init_process_group("nccl")
    {trained}
"""
RUN = 'subprocess.run([sys.executable, "-m", "torch.distributed.{run}", "--nnodes", "1", script])'
APPENDED = 'words = [sys.executable, "-m"]\n    words.append("{word}")\n    subprocess.run(words + [script])'
COUNTED = 'words = ["torchrun", f"--nproc_per_node={gpus}", script]\n    subprocess.run(words)'


@pytest.mark.parametrize(
    ("command", "by_default"),
    [
        (RUN.format(run="launch"), False),
        (RUN.format(run="run"), False),
        (COUNTED, False),
        (APPENDED.format(word="torch.distributed.launch"), False),
        ('subprocess.run(f"torchrun --nproc_per_node {gpus} {script}", shell=True)', False),
        ('line = "python -m torch.distributed.run --nnodes 1 " + script\n    os.system(line)', False),
        # Another command; an option of the program itself; a line that is not run.
        (APPENDED.format(word="my_package.report"), True),
        ('subprocess.run("python -m my_package.report " + script, shell=True)', True),
        ('hint = "python -m torch.distributed.run " + script\n    subprocess.run(script)', True),
        ('subprocess.run(["nvidia-smi"])', True),
        ('subprocess.run(["which", "torchrun"])', True),
        ('parser.add_argument("--nproc_per_node")\n    subprocess.run(script)', True),
    ],
)
def test_who_starts_the_processes_runs_before_there_are_any(command, by_default, tmp_path):
    text = LAUNCHER.format(command=command, trained="pass") + MAIN.replace("train()", "train(8, __file__)")
    assert by_default_in(tmp_path, {"main.py": text}, "main.py") is by_default


def test_what_a_program_does_that_starts_itself_is_done_by_all_its_processes(tmp_path):
    text = LAUNCHER.format(command=COUNTED, trained='open("losses.txt", "w").write("0")')
    text = text.replace("    with open", "    if script:\n        return\n    with open")
    found = findings_in(tmp_path, {"main.py": text + MAIN.replace("train()", "train(8, __file__)")}, "main.py")
    assert [each.by_default for each in found if "losses" in text.splitlines()[each.start.line - 1]] == [True]


RUNNERS = """
import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Runner:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader

    def evaluate(self):
        losses = []
        with torch.no_grad():
            for batch in self.loader:
                losses.append(self.model(batch).mean())
        print("loss", sum(losses) / len(losses))


class RunnerOfEach(Runner):
    def __init__(self, model, loader, rank):
        super().__init__(DistributedDataParallel(model), loader)
        self.rank = rank

    def {own}(self):
        {before}losses = []
        with torch.no_grad():
            for batch in self.loader:
                losses.append(self.model(batch).mean())
        loss = sum(losses) / len(losses)
        dist.all_reduce(loss)
        if self.rank == 0:
            print("loss", loss)


def loader_of(rows, distributed):
    return DataLoader(rows, sampler=DistributedSampler(rows) if distributed else None)


def alone(args):
    {set_up}runner = Runner(torch.nn.Linear(2, 2), loader_of(torch.ones(8, 2), args.distributed))
    runner.evaluate()


def worker(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.size)
    runner = {created}(torch.nn.Linear(2, 2), loader_of(torch.ones(8, 2), args.distributed), rank)
    runner.evaluate()


def started(args):
    mp.spawn(worker, args=(args,), nprocs=args.size)


if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    if args.distributed and torch.cuda.device_count() > 1:
        started(args)
    else:
        alone(args)
"""
AS_WRITTEN = {"own": "evaluate", "before": "", "set_up": "", "created": "RunnerOfEach"}


@pytest.mark.parametrize(
    ("changed", "by_default"),
    [
        ({}, [False]),
        ({"own": "test"}, [True]),
        ({"before": "super().evaluate()\n        "}, [True]),
        ({"before": "Runner.evaluate(self)\n        "}, [True]),
        ({"created": "Runner"}, [True]),
        ({"set_up": 'dist.init_process_group("nccl")\n    '}, [True]),
    ],
)
def test_what_only_the_branch_of_one_process_creates(changed, by_default, tmp_path):
    text = RUNNERS.format(**{**AS_WRITTEN, **changed})
    found = findings_in(tmp_path, {"main.py": text}, "main.py", "TRL003")
    assert [each.by_default for each in found if each.start.line == 20] == by_default


def test_a_branch_of_another_task_says_nothing_of_processes(tmp_path):
    text = RUNNERS.format(**AS_WRITTEN).replace("args.distributed and torch.cuda.device_count() > 1:", "args.train:")
    found = findings_in(tmp_path, {"main.py": text}, "main.py", "TRL003")
    assert [each.by_default for each in found if each.start.line == 20] == [True]


ONE_CLASS = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler


class Runner{bases}:
    def __init__(self, args, model, rank=None):
        self.model, self.rank, self.losses = model, rank, []
        rows = torch.ones(8, 2)
        self.loader = DataLoader(rows, sampler=DistributedSampler(rows) if args.distributed else None)

    def total(self):
        losses = []
        with torch.no_grad():
            for batch in self.loader:
                losses.append(self.model(batch).mean())
        return sum(losses) / len(losses)

    def shown(self):
        if self.rank is None or self.rank == 0:
            print("loss", self.losses[-1])

    def run(self):
        self.losses.append(self.total())
        self.shown(){alone}

    def run_on_all(self):
        loss = self.total()
        {reduced}
        self.losses.append(loss)
        self.shown(){more}
"""
STARTS_WORKERS = """
import argparse

import runners
import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def worker(rank, args):
    dist.init_process_group("nccl", rank=rank, world_size=args.size)
    runner = runners.Runner(args, torch.nn.Linear(2, 2), rank)
    {called}


if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    if args.distributed:
        mp.spawn(worker, args=(args,), nprocs=args.size)
    else:
        runner = runners.Runner(args, torch.nn.Linear(2, 2))
        runner.run()
"""
KEPT_APART = {
    "bases": "",
    "alone": "",
    "reduced": "dist.all_reduce(loss)",
    "more": "",
    "called": "runner.run_on_all()",
}


@pytest.mark.parametrize(
    ("changed", "by_default"),
    [
        ({}, []),
        # Others call it: by its name, by another method, from elsewhere, or in the class that this one is based on.
        ({"called": "runner.run()"}, ["self.losses[-1]"]),
        ({"called": "getattr(runner, args.kind)()"}, ["self.losses[-1]"]),
        ({"more": "\n        self.run()"}, ["self.losses[-1]"]),
        ({"called": "start(runner)"}, ["self.losses[-1]"]),
        ({"bases": "(Base)"}, ["self.losses[-1]"]),
        # The other method shows, or keeps, its own values as well.
        (
            {"alone": "\n        print('one', self.total())", "more": "\n        print('all', self.total())"},
            ["self.total()"],
        ),
        ({"reduced": "pass"}, ["self.losses[-1]"]),
    ],
)
def test_a_method_that_only_the_branch_of_one_process_calls(changed, by_default, tmp_path):
    words = {**KEPT_APART, **changed}
    files = {"runners.py": ONE_CLASS.format(**words), "main.py": STARTS_WORKERS.format(**words)}
    found = findings_in(tmp_path, files, "runners.py", "TRL003")
    assert [each.message.split("`")[1] for each in found if each.by_default] == by_default


LIGHTNING = """
import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only
from torch.nn.functional import mse_loss

class Net(pl.LightningModule):
    def validation_step(self, batch, index):
        inputs, targets = batch
        self.log("val_loss", mse_loss(self.net(inputs), targets))

def train(args):
    trainer = pl.Trainer({})
    trainer.fit(Net(), args.data)
"""


@pytest.mark.parametrize(
    ("given", "others", "by_default"),
    [
        ("gpus=1", {}, False),
        ("devices=[3]", {}, False),
        ("accelerator='gpu', devices=1, num_nodes=1", {}, False),
        # Other numbers, numbers that the user gives, and none.
        ("gpus=2", {}, True),
        ("devices=1, num_nodes=4", {}, True),
        ("devices=args.devices", {}, True),
        ("devices=[0, 1]", {}, True),
        ("max_epochs=1", {}, True),
        # Another program may use the model with more of them.
        ("gpus=1", {"other.py": "from train import Net\n" + MAIN}, True),
        ("gpus=1)\n    pl.Trainer(gpus=args.gpus", {}, True),
    ],
)
def test_a_trainer_of_lightning_with_one_device_in_the_code(given, others, by_default, tmp_path):
    files = {"train.py": LIGHTNING.format(given) + MAIN, **others}
    assert by_default_in(tmp_path, files, "train.py", "TRL003") is by_default


@pytest.mark.parametrize(
    ("settings", "by_default"),
    [
        ("args.trainer.devices = 1", False),
        ("args.trainer.devices = 1\n    args.trainer.num_nodes = 1", False),
        ("args.trainer.devices = 2", True),
        ("args.trainer.devices = args.devices", True),
        ("args.trainer.max_epochs = 1", True),
        ("if args.debug:\n        args.trainer.devices = 1", True),
        ("args.trainer.devices = 1\n    options['devices'] = 4", True),
        ("args.trainer.devices = 1\n    options.update(num_nodes=2)", True),
    ],
)
def test_a_trainer_of_lightning_whose_settings_the_code_gives_one_device(settings, by_default, tmp_path):
    chosen = f"\ndef choose(args, options):\n    {settings}\n    return args\n\n"
    files = {"train.py": LIGHTNING.format("**options") + chosen + MAIN}
    assert by_default_in(tmp_path, files, "train.py", "TRL003") is by_default


FABRIC = """
import torch
from lightning import Fabric

def train():
    fabric = Fabric(accelerator="cuda", precision="bf16-true")
    {}
    with fabric.init_module():
        model = torch.nn.Linear(4, 1)
    torch.save(model.state_dict(), "model.pt")
"""


@pytest.mark.parametrize(
    ("line", "files", "by_default"),
    [
        ("fabric.print('starts')", {}, False),
        ("fabric.print('starts')", {"run.sh": "python train.py\n"}, False),
        # It is launched, here, by what it is handed to, or by a command; or there are other ways to tell.
        ("fabric.launch()", {}, True),
        ("start(fabric)", {}, True),
        ("runner.fabric = fabric", {}, True),
        ("fabric.print('starts')", {"run.sh": "fabric run --devices 4 train.py\n"}, True),
        ("fabric.print('starts')", {"run.sh": "torchrun --nproc_per_node 4 train.py\n"}, True),
        ("fabric.print(fabric.global_rank)", {}, True),
        ("fabric = set_up(Fabric(devices=4))", {}, True),
    ],
)
def test_a_fabric_that_nothing_launches(line, files, by_default, tmp_path):
    text = FABRIC.format(line) + MAIN
    assert by_default_in(tmp_path, {"train.py": text, **files}, "train.py") is by_default


BY_DEVICE = """
import argparse
from enum import Enum

import torch
import torch.distributed as dist

class Kind(str, Enum):
    mps = MPS = "mps"
    cuda = "cuda"

def train(model):
    args = argparse.ArgumentParser().parse_args()
    dist.init_process_group("gloo")
    if {}:
        torch.save(model.state_dict(), args.path)
    elif args.kind == "cuda":
        print("cuda")
"""


@pytest.mark.parametrize(
    ("test", "by_default"),
    [
        ('args.device == "mps"', False),
        ("args.kind == Kind.mps", False),
        ("args.save and args.kind is Kind.MPS", False),
        ("torch.backends.mps.is_available()", False),
        # Other devices may do it, too.
        ('args.device != "mps"', True),
        ("args.kind == Kind.cuda", True),
        ('args.device in ("cuda", "mps")', True),
        ('args.kind == "cuda" or args.kind == "mps"', True),
        ("not torch.backends.mps.is_available()", True),
        ("args.mps", True),
    ],
)
def test_what_runs_on_a_device_of_which_a_machine_has_one(test, by_default, tmp_path):
    text = BY_DEVICE.format(test) + MAIN
    assert by_default_in(tmp_path, {"train.py": text}, "train.py") is by_default


FINDER = """
import lightning
from lightning.pytorch.accelerators import find_usable_cuda_devices

class Finder(lightning.LightningModule):
    def on_validation_epoch_end(self):
        open("wrong.json", "w")

class Trained({}):
    def find(self, path):
        trainer = lightning.Trainer(devices={}, strategy="ddp")
        trainer.validate({})
"""
LOADED = "Finder.load_from_checkpoint(path)"


@pytest.mark.parametrize(
    ("devices", "made", "imported", "by_default"),
    [
        ("1", LOADED, "Trained", False),
        ("find_usable_cuda_devices(1)", LOADED, "Trained", False),
        ("find_usable_cuda_devices(1)", "Finder()", "Trained", False),
        # Others may run it, too, or it is not what this trainer runs.
        ("find_usable_cuda_devices(1)", LOADED, "Finder", True),
        ("find_usable_cuda_devices(1)", LOADED, "*", True),
        ("find_usable_cuda_devices(1)", "Trained()", "Trained", True),
        ("find_usable_cuda_devices(2)", LOADED, "Trained", True),
        ("find_usable_cuda_devices(count)", LOADED, "Trained", True),
    ],
)
def test_a_module_that_only_a_trainer_of_one_device_runs(devices, made, imported, by_default, tmp_path):
    files = {"part.py": FINDER.format("lightning.LightningModule", devices, made)}
    files["train.py"] = f"import lightning\nfrom part import {imported}\n\nlightning.Trainer().fit(Trained())\n"
    assert by_default_in(tmp_path, files, "part.py") is by_default


def test_a_module_with_an_heir_is_run_by_those_that_run_the_heir(tmp_path):
    files = {"part.py": FINDER.format("Finder", "1", LOADED), "train.py": "from part import Trained\n"}
    assert by_default_in(tmp_path, files, "part.py")
