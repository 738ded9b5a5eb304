"""TRL008: how a program is known to be run by several processes."""

from __future__ import annotations

import pytest
from snippets import Snippets
from started import findings_in

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import os
import deepspeed
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def set_up():
    dist.init_process_group("nccl")

def ask_first():
    if not dist.is_initialized():
        dist.init_process_group("nccl")

def leave_first():
    if dist.is_available() and dist.is_initialized():
        return
    dist.init_process_group("nccl")

def start_alone():
    if not dist.is_initialized():
        dist.init_process_group("gloo", world_size=1, rank=0)

def ask_only():
    return dist.get_rank() if dist.is_initialized() else 0

def work(place, net):
    dist.init_process_group("nccl")
    net = FSDP(net)
    net(torch.ones(1)).backward()

def main(args, net):
    {start}
    torch.save(net, "x.pt")
"""


@pytest.mark.parametrize(
    ("start", "is_reported"),
    [
        ("deepspeed.init_distributed()", True),
        ("engine, *_ = deepspeed.initialize(args=args, model=net)", True),
        ("wrapped = FSDP(net)", True),
        ("ask_first()", True),
        ("leave_first()", True),
        ("if not dist.is_initialized():\n        set_up()", True),
        ("if args.distributed:\n        set_up()", True),
        ("if torch.cuda.device_count() > 1:\n        set_up()", True),
        ("if args.ddp:\n        ask_first()", True),
        ("if args.ddp:\n        set_up()\n    else:\n        print()", False),
        ("if args.single:\n        set_up()", False),
        ("start_alone()", False),
        ("ask_only()", False),
        ("deepspeed.ops", False),
        # It may be in the process that starts the others.
        ("if args.distributed:\n        work(0, net)", False),
        ("if args.spread:\n        mp.spawn(work, nprocs=8)\n    else:\n        set_up()", False),
        ("mp.spawn(work, nprocs=8)\n    if args.distributed:\n        set_up()", False),
        ("if int(os.environ['RANK']) == 0:\n        set_up()", True),  # a process that reads its rank is one of several
    ],
)
def test_what_starts_the_processes(start, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(start=start))) is is_reported


def test_a_program_of_deepspeed_needs_no_other_library():
    text = 'import deepspeed\nimport torch\n\ndeepspeed.init_distributed()\ntorch.save({}, "x.pt")\n'
    assert SNIPPETS.findings(text)
    assert SNIPPETS.findings(text.replace("deepspeed.init", "somewhere.init")) == []


@pytest.mark.parametrize(
    ("starts", "is_reported"),
    [
        ('from mmcv.runner import init_dist\n\ninit_dist("slurm")', True),
        ('from mmcv.runner.dist_utils import init_dist\n\ninit_dist("slurm")', True),
        ('from mmengine.dist import init_dist\n\ninit_dist("pytorch", backend="nccl")', True),
        ("from mmcv.parallel import MMDistributedDataParallel\n\nnet = MMDistributedDataParallel(make())", True),
        ("from mmengine.model import MMDistributedDataParallel\n\nnet = MMDistributedDataParallel(make())", True),
        ("from mmcv.parallel import MMDataParallel\n\nnet = MMDataParallel(make())", False),
        ("from mmcv.runner import get_dist_info\n\nrank, world_size = get_dist_info()", False),
    ],
)
def test_openmmlab_starts_processes(starts, is_reported):
    text = f'import torch\n{starts}\ntorch.save({{}}, "x.pt")\n'
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize("test", ["rank == 0", "not rank", "get_dist_info()[0] == 0"])
def test_openmmlab_tells_the_rank(test):
    text = (
        "import torch\nfrom mmcv.runner import get_dist_info, init_dist\n\ninit_dist('slurm')\n"
        f"rank, _ = get_dist_info()\nif {test}:\n    torch.save({{}}, 'x.pt')\ntorch.distributed.barrier()\n"
    )
    assert SNIPPETS.findings(text) == []


ASKED = """\
import json
import os
import time
import toml
import torch
import torch.distributed as dist
import wandb

def main(args, found):
    dist.init_process_group("nccl")
    with open(args.config) as file:
        config = json.loads(json.dumps(toml.load(file)))
    state = torch.load(args.resume)
    step = 0
    {before}
    if {test}:
        os.remove("x")

def other(config):
    config["chosen"] = dist.get_rank() == 0
"""


@pytest.mark.parametrize(
    ("before", "test", "is_reported"),
    [
        ("", 'config["save"]', True),
        ("", 'config.get("save", False)', True),
        ("", 'config.get("monitoring", {}).get("save", False)', True),
        ("flag = config['train']['save']", "flag", True),
        ("", 'config["is_main"]', False),
        ("", 'config.get("save", dist.get_rank() == 0)', False),
        ("", 'config["chosen"]', False),  # the file sets it
        ("", 'found["save"]', False),
        ("", "config[found]", False),
        ("", 'state["step"] % 10 == 0', True),
        ("step = state['global_step'] + 1", "step % 10 == 0", True),
        ("picked = state['picked']", "picked % 10 == 0", True),  # all ranks read one file
        ("picked = found['picked']", "picked % 10 == 0", False),
        ("picked = torch.load(f'{dist.get_rank()}.pt')['picked']", "picked % 10 == 0", False),
        ("step = state['picked']", "step % 10 == 0", True),  # in this call
    ],
)
def test_items_of_settings_and_counts_of_checkpoints_are_the_same_everywhere(before, test, is_reported):
    assert bool(SNIPPETS.findings(ASKED.format(before=before, test=test))) is is_reported


@pytest.mark.parametrize(
    ("where", "is_reported"),
    [
        ("args.output_dir", True),
        ("where_to(args)", True),
        ('os.path.join(args.output_dir, f"rank{dist.get_rank()}")', False),
    ],
)
def test_where_the_files_of_a_run_lie_tells_it_from_others_where_it_differs(where, is_reported):
    text = ASKED.format(before=f'wandb.init(project="x", dir={where})', test="found")
    assert bool(SNIPPETS.findings(text)) is is_reported


@pytest.mark.parametrize(
    ("caught", "is_reported", "are_all_left"),
    [
        ("ImportError", True, True),
        ("(ImportError, ModuleNotFoundError)", True, True),
        ("OSError", False, False),
        ("Exception", True, False),
        ("(ImportError, FileExistsError)", False, False),
    ],
)
@pytest.mark.parametrize("otherwise", ["writer = None", "return"])
def test_a_package_is_there_on_all_ranks_or_on_none(caught, otherwise, is_reported, are_all_left):
    tried = "from torch.utils.tensorboard import SummaryWriter\n        writer = SummaryWriter('logs')"
    before = f"try:\n        {tried}\n    except {caught}:\n        {otherwise}"
    text = ASKED.format(before=before, test="found")
    assert bool(SNIPPETS.findings(text)) is is_reported
    behind = ASKED.format(before=before.replace("SummaryWriter('logs')", "1"), test="args.clean")
    assert bool(SNIPPETS.findings(behind)) is (are_all_left or otherwise != "return")


@pytest.mark.parametrize(
    ("given", "is_reported"),
    [
        ("group=args.group", False),
        ("group=args.group, name=None", False),
        ("group=args.group, name=args.run_name", True),
        ('group="all", id="x1"', True),
        ('group=args.group, name=f"rank{dist.get_rank()}"', False),
        ("group=args.group, name=name_of(args)", False),
        ('group=args.group, name=args.run_name, mode="disabled"', False),
    ],
)
def test_a_run_with_a_name_of_its_own_is_not_one_per_rank_of_a_group(given, is_reported):
    text = ASKED.format(before=f'wandb.init(project="x", {given})', test="found")
    assert bool(SNIPPETS.findings(text)) is is_reported


KEPT = """\
import torch.distributed as dist

is_main = True
tracker = None

def begin():
    global is_main, tracker
    dist.init_process_group("nccl")
    is_main = dist.get_rank() == 0
    if is_main:
        import wandb
        wandb.init(project="x")
        tracker = wandb

def log(data, args):
    if {}:
        tracker.log(data)

def main(args):
    begin()
    log({{"a": 1}}, args)
"""


@pytest.mark.parametrize(("test", "is_reported"), [("tracker is not None", False), ("args.log", True)])
def test_a_library_that_a_function_puts_into_a_global_name_may_be_there_on_one_rank(test, is_reported):
    assert bool(SNIPPETS.findings(KEPT.format(test))) is is_reported


PROCESSES = """\
import os
import tempfile
import time
from pathlib import Path
from functools import partial
import multiprocessing
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator, notebook_launcher

def train(rank, size, folder):
    dist.init_process_group("nccl", rank=rank, world_size=size)
    os.mkdir(folder)

def help_out(number, folder):
    os.mkdir(folder)

def in_notebook(folder):
    accelerator = Accelerator()
    os.mkdir(folder)

def main(args):
    {start}
"""
LOOP = "for i in range(2):\n        {}.start()"


@pytest.mark.parametrize(
    ("start", "is_reported"),
    [
        ("mp.spawn(train, args=(2, args.folder))", True),
        ("mp.spawn(partial(train, size=2, folder=args.folder))", True),
        (LOOP.format("mp.Process(target=train, args=(i, 2, args.folder))"), True),
        (LOOP.format("mp.Process(target=partial(train, size=2, folder=args.folder), args=(i,))"), True),
        (LOOP.format("multiprocessing.Process(target=train, args=(i, 2, args.folder))"), True),
        (LOOP.format("mp.get_context('spawn').Process(target=train, args=(i, 2, args.folder))"), True),
        (LOOP.format("mp.Process(target=train, args=(i, 2, f'{args.folder}{i}'))"), False),
        (LOOP.format("own = args.folder + str(i)\n        mp.Process(target=train, args=(i, 2, own))"), False),
        (LOOP.format("mp.Process(target=partial(train, folder=f'{args.folder}{i}'), args=(i, 2))"), False),
        (LOOP.format("mp.Process(target=help_out, args=(i, args.folder))"), False),
        ("notebook_launcher(in_notebook, args=(args.folder,))", True),
        ("notebook_launcher(in_notebook, args=(folder_of(args),))", False),
        # One process has read the clock, or looked at the disk, for all that it starts.
        ("mp.spawn(train, args=(2, f'{args.folder}/{time.time()}'))", True),
        ("mp.spawn(train, args=(2, next(Path('runs').glob('*'))))", True),
        (
            "now = time.time()\n    " + LOOP.format("mp.Process(target=train, args=(i, 2, f'{args.folder}/{now}'))"),
            True,
        ),
        (LOOP.format("mp.Process(target=train, args=(i, 2, f'{args.folder}/{time.time()}'))"), False),
        (LOOP.format("mp.Process(target=train, args=(i, 2, tempfile.mkdtemp()))"), False),
        ("mp.spawn(train, args=(2, f'{args.folder}/{os.environ[\"RANK\"]}'))", False),
        ("train(0, 2, f'{args.folder}/{time.time()}')", False),
        # One process is started; the group may be one of several nodes, each with such a process.
        ("mp.spawn(train, (args.nodes, args.folder), 1)", True),
        ("mp.spawn(train, args=(args.gpus, args.folder), nprocs=args.gpus)", True),
        ("mp.spawn(help_out, args=(args.folder,), nprocs=1)", False),
        ("mp.spawn(help_out, args=(args.folder,), nprocs=2)", True),
    ],
)
def test_what_the_functions_of_started_processes_are_given(start, is_reported):
    text = PROCESSES.format(start=start) + "\n\ndef folder_of(x):\n    return out_of_sight(x)\n"
    assert bool(SNIPPETS.findings(text)) is is_reported


ALONE = """\
import sys
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel
from files import remove

def main(gpu, net, path):
    dist.init_process_group("nccl", "env://", rank={rank}, world_size={size})
    net = DistributedDataParallel(net)
    remove(path)

def other(gpu, net, path):
    dist.init_process_group("nccl", rank=gpu, world_size=2)

def run(net, path):
    mp.spawn(main, nprocs={processes}, args=(net, path))
    {then}

if __name__ == "__main__":
    run(make(), sys.argv[1])
"""


@pytest.mark.parametrize(
    ("rank", "size", "processes", "then", "is_reported"),
    [
        ("0", "1", "1", "", False),
        ("0", "1", "1", "mp.spawn(other, nprocs=2, args=(net, path))", True),  # the file is of several, too
        ("gpu", "2", "2", "", True),
        ("gpu", "len(path)", "len(path)", "", True),
    ],
)
def test_a_group_of_one_in_a_process_that_is_started_for_it(tmp_path, rank, size, processes, then, is_reported):
    files = {
        "run.py": ALONE.format(rank=rank, size=size, processes=processes, then=then),
        "files.py": "import os\n\ndef remove(path):\n    os.remove(path)\n",
    }
    assert bool(findings_in(tmp_path, files, "files.py")) is is_reported


def test_a_process_that_each_node_starts_alone_knows_its_number():
    text = """\
import sys
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def main(gpu, nodes, node, net):
    dist.init_process_group("nccl", rank=node + gpu, world_size=nodes)
    if gpu == 0:
        torch.save(net, "net.pt")
{then}
if __name__ == "__main__":
    mp.spawn(main, args=(int(sys.argv[1]), int(sys.argv[2]), torch.load("start.pt")), nprocs=1)
"""
    assert SNIPPETS.findings(text.format(then="")) == []
    assert SNIPPETS.findings(text.format(then="    torch.save(net, 'net.pt')\n")) != []


BUILT = """\
import os
import hydra
import {package} as L
from hydra.utils import instantiate

def train(cfg, model, data):
    trainer = {made}
    {run}
    if trainer.is_global_zero and cfg.verbose:
        print(cfg)
    {then}
"""


@pytest.mark.parametrize(
    ("made", "run", "then", "package", "is_reported"),
    [
        ("instantiate(cfg.trainer)", "trainer.fit(model, datamodule=data)", "os.mkdir(cfg.path)", "lightning", True),
        ("hydra.utils.instantiate(cfg.t, logger=x)", "trainer.test(ckpt_path=p)", "os.mkdir(p)", "lightning", False),
        ("hydra.utils.instantiate(cfg.t)", "trainer.test(ckpt_path=p)", "os.mkdir(cfg.path)", "lightning", True),
        ("instantiate(cfg.t, devices=1)", "trainer.fit(model, datamodule=data)", "os.mkdir(cfg.p)", "lightning", False),
        # Other objects have a `fit` as well; the old Trainer starts its processes for `fit` alone.
        ("instantiate(cfg.trainer)", "trainer.fit(model, data)", "os.mkdir(cfg.path)", "lightning", False),
        ("instantiate(cfg.t)", "trainer.fit(model, datamodule=data)", "os.mkdir(cfg.p)", "pytorch_lightning", False),
        ("build(cfg.trainer)", "trainer.fit(model, datamodule=data)", "os.mkdir(cfg.path)", "lightning", False),
        (
            "instantiate(cfg.trainer)",
            "trainer.fit(model, datamodule=data)",
            "if trainer.is_global_zero:\n        os.mkdir(cfg.path)",
            "lightning",
            False,
        ),
    ],
)
@pytest.mark.parametrize("annotation", ["", ": L.Trainer"])
def test_a_trainer_that_hydra_builds_is_told_by_its_use(made, run, then, package, is_reported, annotation):
    text = BUILT.format(made=made, run=run, then=then, package=package).replace("trainer =", f"trainer{annotation} =")
    assert bool(SNIPPETS.findings(text)) is is_reported


def test_a_file_that_is_for_no_several_processes_may_build_a_trainer_of_one_device():
    text = BUILT.format(
        made="instantiate(cfg.trainer)",
        run="trainer.fit(model, datamodule=data)",
        then="os.mkdir(cfg.path)",
        package="lightning",
    )
    assert not SNIPPETS.findings(text.replace("trainer.is_global_zero and ", ""))


PARTS = """\
import os
import pytorch_lightning as pl


class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        os.mkdir("predictions")

    def training_step(self, batch, index):
        return self.net(batch)


def main(args):
    pl.Trainer({}).fit(Task())
"""


@pytest.mark.parametrize(
    ("options", "is_made_by_each"),
    [
        ("devices=args.devices", True),
        ("strategy='ddp', devices=4", True),
        ("strategy='ddp_spawn', devices=4", False),
        ("strategy=DDPStrategy(start_method='fork'), devices=4", False),
        ("gpus=4", False),  # before 2.0, it took this strategy
        ("gpus=4, accelerator='gpu'", False),
        ("gpus=4, accelerator='ddp'", True),
        ("gpus=4, strategy=args.strategy", True),
        ("gpus=4, **args.trainer", True),
    ],
)
def test_what_makes_a_module_again(options, is_made_by_each):
    assert bool(SNIPPETS.findings(PARTS.format(options))) is is_made_by_each


LOGGER = """\
import {package} as L
from {package}.loggers import {logger}


def main(cfg, model, data):
    logger = {logger}(save_dir=cfg.folder)
    trainer = L.Trainer(devices={devices}, logger=logger)
    {then}
    trainer.fit(model, datamodule=data)


if __name__ == "__main__":
    main(read(), make(), load())
"""
SEVERAL = '4, strategy="ddp"'
CHANGES = "logger.experiment.config.update(cfg)"


@pytest.mark.parametrize(
    ("then", "devices", "logger", "is_reported"),
    [
        (CHANGES, SEVERAL, "WandbLogger", True),
        ("logger.experiment.summary.update(cfg)", SEVERAL, "WandbLogger", True),
        # The stand-in takes any call, and the logger itself calls nothing on other ranks.
        ('logger.experiment.log({"size": 3})', SEVERAL, "WandbLogger", False),
        ("logger.log_hyperparams(cfg)", SEVERAL, "WandbLogger", False),
        (f"if trainer.is_global_zero:\n        {CHANGES}", SEVERAL, "WandbLogger", False),
        (CHANGES, "1", "WandbLogger", False),
        (CHANGES, SEVERAL, "OwnLogger", False),
    ],
)
@pytest.mark.parametrize("package", ["lightning.pytorch", "pytorch_lightning"])
def test_only_the_first_rank_has_the_run_of_a_logger(package, then, devices, logger, is_reported):
    text = LOGGER.format(package=package, then=then, devices=devices, logger=logger)
    findings = SNIPPETS.findings(text)
    assert bool(findings) is is_reported
    assert all(each.consequence.value == "crash" and "the others fail" in each.message for each in findings)


@pytest.mark.parametrize(
    ("helper", "is_reported"),
    [
        ("import torch.distributed as dist\n\ndef setup_dist():\n    dist.init_process_group('nccl')\n", True),
        ("import random\n\ndef setup_dist():\n    random.seed(3)\n", False),
    ],
)
def test_the_process_group_is_started_by_another_module(tmp_path, helper, is_reported):
    program = (
        "import os\nfrom pkg import dist_util\n\ndef main(args):\n    dist_util.setup_dist()\n"
        "    os.makedirs(args.log_dir)\n\nmain(parse())\n"
    )
    files = {"main.py": program, "pkg/dist_util.py": helper, "pkg/__init__.py": ""}
    assert len(findings_in(tmp_path, files, "main.py")) == is_reported


STRATEGY_BY_OPTION = """\
import argparse
import os
import fire
import pytorch_lightning as pl
{options}

def train(options, net, strategy{default}):
    os.mkdir(options.folder)
    {before}
    pl.Trainer(devices=options.devices, strategy={strategy}).fit(net)


if __name__ == "__main__":
    fire.Fire(train)
"""


@pytest.mark.parametrize(
    ("before", "strategy", "default", "options", "is_reported"),
    [
        ('assert strategy is None or strategy == "ddp"', "strategy", "", "", True),
        ('if strategy in ("ddp", "fsdp"):\n        print("several")', "strategy", "", "", True),
        ('if "ddp" in options.strategy:\n        print("several")', "options.strategy", "", "", True),
        ("print(strategy)", "strategy", '="ddp"', "", True),
        ("print(strategy)", "options.strategy", "", 'PARSER.add_argument("--strategy", default="ddp")', True),
        ("print(strategy)", "strategy", "", "", False),
        ("print(strategy)", "strategy", '="auto"', "", False),
        ("print(strategy)", "options.strategy", "", 'PARSER.add_argument("--strategy", default="auto")', False),
        ('if strategy == "ddp":\n        raise ValueError', "strategy", "", "", False),
        ('if strategy == "auto":\n        print("one")', "strategy", "", "", False),
        ('if options.other == "ddp":\n        print("several")', "strategy", "", "", False),
        ('if strategy != "ddp":\n        print("one")', "strategy", "", "", False),
    ],
)
def test_a_strategy_that_an_option_names(before, strategy, default, options, is_reported):
    text = STRATEGY_BY_OPTION.format(before=before, strategy=strategy, default=default, options=options)
    assert bool(SNIPPETS.findings(text)) is is_reported


STARTED_ON_GPUS = """\
import os
import torch
import torch.distributed as dist

def start():
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        dist.init_process_group("nccl")

def main(args):
    {start}
    os.remove("rows.txt")
"""


@pytest.mark.parametrize(
    ("start", "is_reported"),
    [
        ("if torch.cuda.is_available():\n        start()", True),
        ("if not torch.cuda.is_available():\n        print()\n    else:\n        start()", True),
        ("if not torch.cuda.is_available():\n        start()", False),
        ("if args.tries:\n        start()", False),
    ],
)
def test_a_helper_starts_the_group_wherever_there_are_gpus(start, is_reported):
    assert bool(SNIPPETS.findings(STARTED_ON_GPUS.format(start=start))) is is_reported
