"""Findings in a file that names no library, if other files run its code on every rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_projects import found, written

from trl_lint import api
from trl_lint.settings import Settings


def test_a_file_that_names_nothing_is_reported_where_others_run_it(tmp_path: Path) -> None:
    helper = "import os\n\ndef keep(path):\n    os.remove('x')\n"
    train = (
        "from accelerate import Accelerator\nfrom helper import keep\n\n"
        "def main():\n    Accelerator()\n    keep('x')\n    os.remove('y')\n\nmain()\n"
    )
    folder = written(tmp_path, {"helper.py": helper, "train.py": "import os\n" + train})
    assert found(folder) == [("helper.py", 4, "TRL008"), ("train.py", 8, "TRL008")]
    assert api.check(folder / "helper.py", Settings(root=folder, preview=True)) == []


def test_what_needs_a_library_is_not_reported_there(tmp_path: Path) -> None:
    helper = "import torch.cuda\n\ndef keep(accelerator, x):\n    if x.sum() > 0:\n        accelerator.gather(x)\n"
    train = (
        "from accelerate import Accelerator\nfrom helper import keep\n\n"
        "accelerator = Accelerator()\nkeep(accelerator, accelerator.gather(1))\n"
    )
    folder = written(tmp_path, {"helper.py": helper, "train.py": train})
    assert not any(name == "helper.py" for name, _, _ in found(folder))


def test_a_wrapped_model_that_is_handed_to_a_file_without_a_library_is_reported_there(tmp_path: Path) -> None:
    """The caller that wraps the model names the wrapper; the helper that reads from it need not."""
    helper = "def answer(model, x):\n    return model.infer(x)\n\n\ndef other(model, x):\n    return model.infer(x)\n"
    train = (
        "from torch.nn.parallel import DistributedDataParallel as DDP\nfrom helper import answer, other\n\n"
        "model = make()\nother(model, 1)\nanswer(DDP(model), 1)\n"
    )
    folder = written(tmp_path, {"helper.py": helper, "train.py": train})
    assert found(folder) == [("helper.py", 2, "TRL002")]


def test_a_model_from_a_file_that_names_an_engine_may_be_inside_that(tmp_path: Path) -> None:
    """Engines other than DDP forward attributes to the model."""
    helper = "def answer(model, x):\n    return model.save_pretrained(x)\n"
    train = (
        "from accelerate import Accelerator\nfrom helper import answer\n\n"
        "accelerator = Accelerator()\nmodel, optimizer = accelerator.prepare(make(), make_optimizer())\n"
        "answer(model, 1)\n"
    )
    folder = written(tmp_path, {"helper.py": helper, "train.py": train})
    assert found(folder) == [("helper.py", 2, "TRL002")]
    written(tmp_path, {"train.py": train + "\n# nothing for deepspeed_stage 3\n"})
    assert found(folder) == [("helper.py", 2, "TRL002")]
    written(tmp_path, {"train.py": train + "\nif deepspeed_stage == 3:\n    pass\n"})
    assert found(folder) == []


def test_in_which_engine_a_trainer_has_its_model_is_not_for_a_mention_to_say(tmp_path: Path) -> None:
    helper = "def answer(model):\n    return model.config.use_cache\n"
    train = (
        "from transformers import Trainer\nfrom helper import answer\n\n\n"
        "class MyTrainer(Trainer):\n"
        "    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
        "        answer(model)\n        return model(**inputs).loss\n\n"
        "    def plugin(self):\n        return self.accelerator.state.deepspeed_plugin\n"
    )
    folder = written(tmp_path, {"helper.py": helper, "train.py": train})
    assert found(folder) == [("helper.py", 2, "TRL002")]


def test_what_defines_an_attribute_is_what_the_code_in_reach_imports(tmp_path: Path) -> None:
    """Neither other linted files nor comments count."""
    ask = "def keep(model):\n    if hasattr(model, 'extra'):\n        model.extra()\n"
    train = (
        "from torch.nn.parallel import DistributedDataParallel as DDP\nfrom nets import Net\n\n"
        f"{ask}\nkeep(DDP(Net()))\n"
    )
    nets = "class Net:\n    def extra(self):\n        return 1\n"
    folder = written(tmp_path, {"nets.py": nets, "train.py": train})
    assert found(folder) == [("train.py", 5, "TRL002")]
    written(tmp_path, {"nets.py": "class Net:\n    # def extra(self):\n    pass\n", "other.py": nets})
    assert found(folder) == []


def test_a_start_in_another_file_says_nothing_of_a_function_of_the_same_name(tmp_path: Path) -> None:
    tool = (
        "import torch.distributed as dist\n\ndef setup():\n    print('ready')\n\n"
        "def main():\n    if not dist.is_initialized():\n        setup()\n    open('x', 'w')\n"
    )
    starts = "import torch.distributed as dist\n\ndef setup():\n    dist.init_process_group('nccl')\n"
    folder = written(tmp_path, {"tool.py": tool, "a_setup.py": starts, "z_setup.py": starts})
    assert not any(name == "tool.py" for name, _, _ in found(folder))
    written(tmp_path, {"tool.py": tool.replace("print('ready')", "dist.init_process_group('nccl')")})
    assert ("tool.py", 9, "TRL008") in found(folder)


def test_what_is_logged_there_of_others_is_reported_there(tmp_path: Path) -> None:
    """The other file uses ranks: the values that it stores in an object are local to this rank."""
    meters = (
        "from torch.utils.tensorboard import SummaryWriter\n\n\nclass Meter:\n    def __init__(self):\n"
        "        self.total = 0.0\n\n    def update(self, value):\n        self.total += value\n\n\n"
        "def show(meter):\n    SummaryWriter('x').add_scalar('total', meter.total, 1)\n"
    )
    train = (
        "from accelerate import Accelerator\nfrom meters import Meter, show\n\n"
        "accelerator = Accelerator()\nloader = accelerator.prepare(make_loader())\nmeter = Meter()\n"
        "for batch in loader:\n    meter.update(batch['x'].mean().item())\n"
        "if accelerator.is_main_process:\n    show(meter)\n"
    )
    folder = written(tmp_path, {"meters.py": meters, "train.py": train})
    assert found(folder) == [("meters.py", 13, "TRL003")]
    assert api.check(folder / "meters.py", Settings(root=folder, preview=True)) == []
    written(tmp_path, {"train.py": train.replace("batch['x'].mean()", "accelerator.gather(batch['x']).mean()")})
    assert found(folder) == []


def test_a_registry_knows_what_its_package_imports(tmp_path: Path) -> None:
    """An importer of a package's module has run the package's `__init__` before."""
    ask = "def keep(model):\n    if hasattr(model, 'extra'):\n        model.extra()\n"
    build = (
        "from torch.nn.parallel import DistributedDataParallel\nfrom registry import MODELS\n\n\n"
        "def build(name, rank):\n    return DistributedDataParallel(MODELS[name](), device_ids=[rank])\n"
    )
    train = (
        "import torch.distributed as dist\nfrom models.build import build\nfrom ask import keep\n\n"
        "dist.init_process_group()\nkeep(build('net', dist.get_rank()))\n"
    )
    nets = "class Net:\n    def extra(self):\n        return 1\n"
    files = {"ask.py": ask, "train.py": train, "models/build.py": build, "models/nets.py": nets}
    folder = written(tmp_path, {**files, "models/__init__.py": ""})
    assert found(folder) == []
    written(tmp_path, {"models/__init__.py": "from . import build, nets\n"})
    assert found(folder) == [("ask.py", 2, "TRL002")]


AGENT = (
    "from torch.nn.parallel import DistributedDataParallel\n\n\nclass Agent:\n    def __init__(self, options):\n"
    "        self.model = self.build(options)\n        self.load(options)\n        if options.distributed:\n"
    "            self.model = DistributedDataParallel(self.model, device_ids=[0])\n\n"
    "    def build(self, options):\n        raise NotImplementedError\n\n"
    "    def load(self, options):\n        self.load_weights(options)\n\n"
    "    def load_weights(self, options):\n        pass\n"
)
HEIR = (
    "from core import {base}\n\n\nclass Writer({base}):\n    def {method}(self, batch):\n"
    "        return self.model.writer.write(batch)\n"
)


def test_an_heir_of_a_class_that_wraps_its_model_need_not_name_a_library(tmp_path: Path) -> None:
    folder = written(tmp_path, {"core.py": AGENT, "writer.py": HEIR.format(base="Agent", method="answer")})
    assert found(folder) == [("writer.py", 6, "TRL002")]
    # Through a third file that says nothing itself.
    between = "from core import Agent\n\n\nclass Middle(Agent):\n    pass\n"
    heir = HEIR.format(base="Middle", method="answer").replace("core", "between")
    written(tmp_path, {"between.py": between, "writer.py": heir})
    assert found(folder) == [("writer.py", 6, "TRL002")]
    # Of a class that wraps nothing.
    written(tmp_path, {"writer.py": HEIR.format(base="Other", method="answer")})
    assert found(folder) == []


def test_an_heir_of_a_lightning_module_need_not_name_a_library_to_log(tmp_path: Path) -> None:
    """The file of its base may be skipped itself: it does nothing with several processes."""
    base = (
        "import lightning as L\n\n\nclass Base(L.LightningModule):\n    def sizes(self):\n"
        "        return self.trainer.world_size\n"
    )
    heir = (
        "from torch.nn.functional import mse_loss\nfrom base import Base\n\n\nclass Net({base}):\n"
        "    def validation_step(self, batch, batch_idx):\n        loss = mse_loss(self.net(batch), batch)\n"
        "        self.log('val_loss', loss{keyword})\n"
    )
    train = "from lightning import Trainer\nfrom net import Net\n\nTrainer(devices=2).fit(Net())\n"
    files = {"base.py": base, "train.py": train}
    folder = written(tmp_path, {**files, "net.py": heir.format(base="Base", keyword="")})
    assert found(folder) == [("net.py", 8, "TRL003")]
    written(tmp_path, {"net.py": heir.format(base="Base", keyword=", sync_dist=True")})
    assert found(folder) == []
    written(tmp_path, {"net.py": heir.format(base="Other", keyword="")})
    assert found(folder) == []
    # Nothing says that it is for several processes.
    written(
        tmp_path, {"base.py": base.replace("world_size", "max_epochs"), "net.py": heir.format(base="Base", keyword="")}
    )
    assert found(folder) == []


def test_what_a_base_calls_before_it_wraps_the_model_has_the_bare_one(tmp_path: Path) -> None:
    folder = written(tmp_path, {"core.py": AGENT, "writer.py": HEIR.format(base="Agent", method="load_weights")})
    assert found(folder) == []


def test_behind_the_init_of_its_base_an_heir_has_the_wrapped_model(tmp_path: Path) -> None:
    """Whatever a base of that base has left there before."""
    above = "class Top:\n    def __init__(self, options):\n        self.model = options.get('model')\n"
    core = AGENT.replace("class Agent:", "class Agent(Top):").replace(
        "        self.model = self.build", "        super().__init__(options)\n        self.model = self.build"
    )
    init = (
        "from core import Agent\n\n\nclass Writer(Agent):\n    def __init__(self, options):\n"
        "        {before}super().__init__(options)\n{behind}"
    )
    read = "        self.start = self.model.start\n"
    files = {"top.py": above, "core.py": "from top import Top\n" + core}
    folder = written(tmp_path, {**files, "writer.py": init.format(before="", behind=read)})
    assert found(folder) == [("writer.py", 7, "TRL002")]
    written(tmp_path, {"writer.py": init.format(before="", behind="        self.model = make()\n" + read)})
    assert found(folder) == []


def test_a_step_in_a_file_without_a_library_waits_where_the_wrapped_model_is_passed(tmp_path: Path) -> None:
    engine = (
        "import math\n\n\ndef train_one_epoch(model, criterion, loader, optimizer):\n    for x, y in loader:\n"
        "        loss = criterion(model(x), y)\n        if not math.isfinite(loss.item()):\n            continue\n"
        "        optimizer.zero_grad()\n        loss.backward()\n        optimizer.step()\n"
    )
    main = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
        "from torch.utils.data import DataLoader, DistributedSampler\nfrom engine import train_one_epoch\n\n\n"
        "def main(net, data):\n    torch.distributed.init_process_group()\n"
        "    loader = DataLoader(data, sampler=DistributedSampler(data))\n"
        "    optimizer = torch.optim.SGD(net.parameters())\n"
        "    train_one_epoch({}, torch.nn.CrossEntropyLoss(), loader, optimizer)\n"
    )
    folder = written(tmp_path, {"engine.py": engine, "main.py": main.format("DDP(net)")})
    assert found(folder) == [("engine.py", 8, "TRL006")]
    written(tmp_path, {"main.py": main.format("net")})
    assert found(folder) == []


def test_a_forward_in_a_file_without_a_library_bypasses_the_wrapper_that_is_passed(tmp_path: Path) -> None:
    engine = (
        "def step(model, criterion, x, y, optimizer):\n    loss = criterion({}(x), y)\n"
        "    loss.backward()\n    optimizer.step()\n"
    )
    main = (
        "import torch\nfrom torch.nn.parallel import DistributedDataParallel as DDP\nfrom engine import step\n\n\n"
        "def main(net, x, y):\n    torch.distributed.init_process_group()\n    model = DDP(net)\n"
        "    step(model, torch.nn.CrossEntropyLoss(), x, y, torch.optim.SGD(net.parameters()))\n"
    )
    folder = written(tmp_path, {"engine.py": engine.format("model.module"), "main.py": main})
    assert found(folder) == [("engine.py", 2, "TRL009")]
    written(tmp_path, {"engine.py": engine.format("model")})
    assert found(folder) == []


def test_ranks_that_a_decorator_keeps_out_are_not_reported_there(tmp_path: Path) -> None:
    ranks = (
        "import torch.distributed as dist\n\n\ndef rank_zero_only(function):\n    def run(*args):\n"
        "        if dist.get_rank() == 0:\n            return function(*args)\n    return run\n\n\n"
        "def together(x):\n    found = [None] * 2\n    dist.all_gather_object(found, x)\n    return found\n"
    )
    helper = "from ranks import rank_zero_only, together\n\n\n@rank_zero_only\ndef write(x):\n    print(together(x))\n"
    train = (
        "import torch.distributed as dist\nfrom helper import write\n\n\ndef main():\n"
        "    dist.init_process_group()\n    write(1)\n\n\nmain()\n"
    )
    folder = written(tmp_path, {"ranks.py": ranks, "helper.py": helper, "train.py": train})
    assert not any(name == "helper.py" for name, _, _ in found(folder))


SETUP = (
    "from torch.nn import DataParallel\n\n\ndef setup(config):\n    model = build(config)\n"
    "    if config.data_parallel:\n        model = DataParallel(model)\n"
    "    return (\n        model,\n        rows(config),\n    )\n\n\n"
    "def other(config):\n    return build(config), rows(config)\n"
)
RECEIVER = (
    "from prepared import {names}\n\n\ndef step(model, batch):\n    loss = {read}\n    loss.backward()\n\n\n"
    "def main(config):\n    model, loader = {called}(config)\n    for batch in loader:\n        step(model, batch)\n"
)


def test_a_file_that_trains_what_a_function_of_another_has_wrapped_need_not_name_a_library(tmp_path: Path) -> None:
    def with_train(names: str = "setup", called: str = "setup", read: str = "model.loss(batch)") -> Path:
        train = RECEIVER.format(names=names, called=called, read=read)
        return written(tmp_path, {"prepared.py": SETUP, "train.py": train})

    reported = [("train.py", 5, "TRL002")]
    assert found(with_train()) == reported
    assert found(with_train("other, setup as prepare", "prepare")) == reported
    assert found(with_train("(\n    setup,\n)")) == [("train.py", 7, "TRL002")]
    # The model that the other function returns, or through the wrapper.
    assert found(with_train("other, setup", "other")) == []
    assert found(with_train(read="model(batch)")) == []
    # A file without a function that wraps a model.
    written(tmp_path, {"script.py": "from torch.nn import DataParallel\n\nmodel = DataParallel(make())\n"})
    assert found(with_train()) == reported


def test_a_setting_of_another_name_says_nothing_of_the_wrapper_of_a_receiver(tmp_path: Path) -> None:
    train = (
        "from prepared import setup\n\n\ndef run(config, model, loader):\n    wanted = config.{setting}\n"
        "    if wanted is None:\n        return\n    for batch in loader:\n        loss = model.loss(batch)\n"
        "        loss.backward()\n\n\ndef main(config):\n    run(config, *setup(config))\n"
    )
    for setting, is_reported in (("depth", True), ("data_parallel", False), ("gpus", False)):
        folder = written(tmp_path, {"prepared.py": SETUP, "train.py": train.format(setting=setting)})
        assert found(folder) == [("train.py", 9, "TRL002")] * is_reported


STARTED = """\
import os
import torch.distributed as dist


def start():
    dist.init_process_group("nccl")


def run_training(config, folder):
    start()
    with open(os.path.join(folder, "used.json"), "w") as file:
        file.write(config)
"""
WITH_OPTIONS = """\
import argparse
from training import run_training

if __name__ == "__main__":
    args = argparse.ArgumentParser().parse_args()
    run_training(args.config, {folder})
"""


def test_a_program_that_passes_its_options_on_need_not_name_a_library(tmp_path: Path) -> None:
    for folder, is_reported in (("args.folder", True), ("'runs/' + args.name", True), ("str(os.getpid())", False)):
        program = "import os\n" * ("os." in folder) + WITH_OPTIONS.format(folder=folder)
        written(tmp_path, {"training.py": STARTED, "main.py": program})
        assert found(tmp_path) == [("training.py", 11, "TRL008")] * is_reported
    # What it does itself is not reported: it may be a tool beside the training.
    program = "import os\n" + WITH_OPTIONS.format(folder="args.folder") + "    os.remove('x')\n"
    written(tmp_path, {"main.py": program})
    assert found(tmp_path) == [("training.py", 11, "TRL008")]
    # Nothing is known of what others pass.
    written(tmp_path, {"main.py": "from training import run_training\nfrom somewhere import folder\n"})
    assert found(tmp_path) == []


WORLD = """import os
import torch.distributed as dist

class World:
    def __init__(self, rank):
        self.rank = rank

    @classmethod
    def started(cls):
        dist.init_process_group("nccl")
        return cls(int(os.environ.get("RANK", 0)))

    @property
    def is_main(self):
        return self.rank == 0
"""
LOOP = """import torch.distributed as dist

def run(world):
    if world.is_main:
        dist.barrier()
"""
IMPORTS = "from lib.comm import World, start\nfrom lib.loop import run\n"
PROGRAM = "{}\nif __name__ == '__main__':\n    {}\n"


@pytest.mark.parametrize(
    ("program", "is_found"),
    [
        (PROGRAM.format(IMPORTS, "run(World.started())"), True),
        (PROGRAM.format(IMPORTS, "run(start())"), True),
        (PROGRAM.format("from lib import comm, loop\n", "loop.run(comm.World.started())"), True),
        (f"{IMPORTS}\nrun(World.started())\n", False),
        (PROGRAM.format("from lib.loop import run\nfrom world import World\n", "run(World())"), False),
    ],
    ids=["method", "function", "modules", "no program", "another class"],
)
@pytest.mark.parametrize("name", [".", "lib/loop.py"])
def test_a_program_says_what_the_rank_is_if_another_file_starts_its_processes(
    tmp_path: Path, program: str, is_found: bool, name: str
) -> None:
    comm = WORLD + "\ndef start():\n    return World.started()\n"
    files = {"lib/__init__.py": "", "lib/comm.py": comm, "lib/loop.py": LOOP, "world.py": "class World: pass\n"}
    folder = written(tmp_path, {**files, "train.py": program})
    assert found(folder, name) == ([("lib/loop.py", 5, "TRL006")] if is_found else [])


BASE = """import torch.distributed as dist

class Base:
    def __init__(self, args):
        dist.init_process_group("nccl")
        self.folder = args.folder
"""
JOB = """import torch
import torch.distributed as dist
from base import Base

class Job(Base):
    def run(self):
        torch.save({"ranks": dist.get_world_size()}, self.folder + "/job.pt")
"""
BETWEEN = "from base import Base\n\nclass Between(Base):\n    pass\n"
STARTS_JOB = """import argparse
from job import Job

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder")
    Job(parser.parse_args()).run()
"""


@pytest.mark.parametrize(
    ("base", "job", "is_found"),
    [
        (BASE, JOB, True),
        (BASE, JOB.replace("(Base)", "(Base, metaclass=type)"), True),
        (BASE, JOB.replace("base import Base", "between import Between").replace("(Base)", "(Between)"), True),
        (BASE.replace("dist.init_process_group", "print"), JOB, False),
        (BASE, JOB.replace("(Base)", ""), False),
    ],
)
def test_a_class_that_a_program_makes_may_inherit_what_starts_its_processes(
    tmp_path: Path, base: str, job: str, is_found: bool
) -> None:
    # A class of the same name in another file says nothing of this one.
    other = "import torch.distributed\nfrom elsewhere import Other\n\nclass Job(Other):\n    pass\n"
    files = {"base.py": base, "job.py": job, "between.py": BETWEEN, "main.py": STARTS_JOB, "other.py": other}
    assert found(written(tmp_path, files)) == ([("job.py", 7, "TRL008")] if is_found else [])
