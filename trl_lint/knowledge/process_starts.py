"""Calls that show that a program runs as several processes: those that each process makes, and those that start them.

Read from torch 2.13 (distributed/distributed_c10d.py), accelerate 1.15 (accelerator.py, state.py, utils/dataclasses.py,
launchers.py), composer 0.32 (utils/dist.py), deepspeed 0.19 (__init__.py, comm/comm.py), fastai 2.8 (distributed.py),
pytorch-ignite 0.5.5 (distributed/utils.py, distributed/launcher.py), lightning-fabric 2.6, lightning 2.6
(pytorch/trainer/trainer.py), mmcv 1.7 (runner/dist_utils.py), mmengine 0.11 (dist/utils.py), bmtrain 1.0 (init.py),
colossalai 0.5 (initialize.py), detectron2 0.6 (engine/launch.py), fairseq 0.12 (distributed/utils.py), horovod 0.28
(torch/mpi_ops.py), Megatron-LM core 0.14 (megatron/training/initialize.py), ray 2.60 (train/torch/torch_trainer.py),
and torch_xla 2.9 (torch_xla.py, distributed/xla_multiprocessing.py).
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple

from trl_lint.knowledge import speechbrain
from trl_lint.knowledge.fastai import ADAPTS, SETS_UP, TRAINER
from trl_lint.knowledge.lightning import FABRIC, FABRICS, OLD_PACKAGE, OLD_TRAINER, TRAINERS
from trl_lint.knowledge.schema import Parameter


class Shows(IntEnum):
    """What a call shows; each member implies those before it."""

    NOTHING = 0
    FUNCTION = 1  # the function that calls it runs once per process
    SCRIPT = 2  # so does the script that it is in, which sets up the job itself
    GROUP = 3  # the process group is started by the call


class ProcessStart(NamedTuple):
    """A class or function of a library that sets up a program for several processes.

    backend: the parameter that names the backend of the process group. Without one, torch takes gloo for tensors on the
    CPU and nccl for those on a GPU; deepspeed takes nccl, and so does accelerate if there are GPUs.
    devices: the keyword that says on how many devices of a node it runs, with one process each, whatever the launch.
    strategies: the keywords that name what the processes do together; without one, or a number of devices, they may be
    one.
    """

    name: str
    shows: Shows
    backend: Parameter | None = None
    devices: str = ""
    strategies: tuple[str, ...] = ()


# Arguments of Lightning's Trainer; before 1.5 the second and third named a strategy, or a plugin of one did.
# Source: https://lightning.ai/docs/pytorch/stable/common/trainer.html#strategy
STRATEGIES = ("strategy", "accelerator", "distributed_backend", "plugins")
# How the names of strategies begin, and of their classes, that start a process per device; parts of the names of those
# that start them for a function only.
OF_PROCESSES = ("ddp", "deepspeed", "fsdp")
ELSEWHERE = ("fork", "notebook", "spawn")
# How the names of their classes end.
ARE_STRATEGIES = ("Plugin", "Strategy")
# With several devices and no strategy it takes "ddp"; before 2.0 "ddp_spawn". Where its package had such releases, the
# name that tells them.
# Source: pytorch_lightning 1.9.5 and 2.6.0, trainer/connectors/accelerator_connector.py `_choose_strategy`
BY_NUMBER = {"lightning.pytorch.Trainer": "", OLD_TRAINER: OLD_PACKAGE}

# Classes with one object per process, of which the class says everything that the rules need.
ONE_PER_PROCESS = frozenset({"accelerate.Accelerator", "accelerate.PartialState", *FABRICS, *TRAINERS})

# The layout of a table is by hand: one line per row.
# fmt: off
STARTS = (
    ProcessStart("accelerate.Accelerator", Shows.SCRIPT),
    ProcessStart("accelerate.InitProcessGroupKwargs", Shows.NOTHING, backend=(0, "backend")),
    ProcessStart("accelerate.PartialState", Shows.FUNCTION),
    ProcessStart("bmtrain.init_distributed", Shows.SCRIPT),
    *(
        ProcessStart(f"colossalai.{name}", Shows.GROUP)
        for name in ("launch", "launch_from_openmpi", "launch_from_slurm", "launch_from_torch")
    ),
    ProcessStart("composer.Trainer", Shows.SCRIPT),
    ProcessStart("composer.utils.dist.initialize_dist", Shows.SCRIPT),
    ProcessStart("deepspeed.init_distributed", Shows.GROUP, backend=(0, "dist_backend")),
    ProcessStart("deepspeed.initialize", Shows.FUNCTION),
    *(ProcessStart(name, Shows.FUNCTION) for name in (*ADAPTS, TRAINER)),
    ProcessStart(SETS_UP, Shows.SCRIPT),
    ProcessStart("horovod.torch.init", Shows.SCRIPT),
    ProcessStart("ignite.distributed.initialize", Shows.GROUP, backend=(0, "backend")),
    *(ProcessStart(name, Shows.FUNCTION, devices="devices") for name in sorted(FABRICS)),
    *(
        ProcessStart(name, Shows.FUNCTION, devices="devices", strategies=STRATEGIES)
        for name in ("lightning.pytorch.Trainer", "pytorch_lightning.Trainer")
    ),
    *(
        ProcessStart(f"megatron.{package}initialize_megatron", Shows.GROUP)
        for package in ("initialize.", "training.", "training.initialize.")
    ),
    ProcessStart("mmcv.parallel.MMDistributedDataParallel", Shows.FUNCTION),
    ProcessStart("mmcv.runner.init_dist", Shows.GROUP, backend=(1, "backend")),
    ProcessStart("mmengine.dist.init_dist", Shows.GROUP, backend=(1, "backend")),
    ProcessStart("mmengine.model.MMDistributedDataParallel", Shows.FUNCTION),
    ProcessStart("physicsnemo.distributed.DistributedManager.initialize", Shows.GROUP),
    ProcessStart(speechbrain.STARTS, Shows.GROUP),
    ProcessStart("torch.distributed.fsdp.FullyShardedDataParallel", Shows.FUNCTION),
    ProcessStart("torch.distributed.fsdp.fully_shard", Shows.FUNCTION),
    ProcessStart("torch.distributed.init_process_group", Shows.GROUP, backend=(0, "backend")),
    ProcessStart("torch.nn.parallel.DistributedDataParallel", Shows.FUNCTION),
)


class Gets(Enum):
    """What a launched function gets before its own arguments."""

    NOTHING = "nothing"
    RANK = "the number of the process"
    OBJECT = "the object whose method launches it"
    FIRST = "the first argument of the launcher"


class ProcessLauncher(NamedTuple):
    """A function that runs another one in several processes.

    arguments: the parameter with a tuple of the arguments; None if they follow by position.
    processes: the parameter with the number of processes on this node, if it has one.
    """

    function: Parameter
    arguments: Parameter | None = None
    gets: Gets = Gets.NOTHING
    processes: Parameter | None = None


_LAUNCH = ProcessLauncher((0, "fn"), (1, "args"), Gets.RANK)
_SPAWN = _LAUNCH._replace(processes=(2, "nprocs"))
LAUNCHERS = {
    **dict.fromkeys(
        ("accelerate.debug_launcher", "accelerate.notebook_launcher"), ProcessLauncher((0, "function"), (1, "args"))
    ),
    **dict.fromkeys(
        ("detectron2.engine.launch", "detectron2.engine.launch.launch"), ProcessLauncher((0, "main_func"), (5, "args"))
    ),
    **dict.fromkeys(
        ("fairseq.distributed.utils.call_main", "fairseq.distributed_utils.call_main"),
        ProcessLauncher((1, "main"), gets=Gets.FIRST),
    ),
    "ignite.distributed.Parallel.run": ProcessLauncher((0, "func"), gets=Gets.RANK),
    "ignite.distributed.spawn": ProcessLauncher((1, "fn"), (2, "args"), Gets.RANK),
    f"{FABRIC}.launch": ProcessLauncher((0, "function"), gets=Gets.OBJECT),
    **dict.fromkeys(
        ("ray.train.torch.TorchTrainer", "ray.train.torch.torch_trainer.TorchTrainer"),
        ProcessLauncher((0, "train_loop_per_worker")),
    ),
    **dict.fromkeys(
        ("torch.distributed.launcher.api.elastic_launch", "torch.distributed.launcher.elastic_launch"),
        ProcessLauncher((1, "entrypoint")),
    ),
    **dict.fromkeys(("torch.multiprocessing.spawn", "torch_xla.distributed.xla_multiprocessing.spawn"), _SPAWN),
    "torch_xla.launch": _LAUNCH,
}
# Libraries that take nccl if no backend is named. Of `InitProcessGroupKwargs`, accelerate passes on only what is not
# the default (accelerate: utils/dataclasses.py `to_kwargs`, state.py `_prepare_backend`).
TAKE_NCCL = ("accelerate.", "deepspeed.", "mmcv.", "mmengine.")
# Functions that start the ranks of a job, wherever they are imported from; other processes may be helpers.
START_RANKS = frozenset({"debug_launcher", "elastic_launch", "notebook_launcher", "spawn", "start_processes"})
# The caller of one of these is none of the processes that it starts.
START_PROCESSES = START_RANKS | {"Popen", "Process"}
# Code that may call one of these, or start other processes.
MAY_START_RANKS = rb"(?:\bProcess|_launch|_launcher|\bspawn|\bstart_processes)\("
# Functions that test whether there is a process group, without their module.
ASK_FOR_GROUP = frozenset({"is_initialized"})
# fmt: on


def _showing(least: Shows) -> frozenset[str]:
    return frozenset(row.name for row in STARTS if row.shows >= least)


CALLED_BY_EACH = _showing(Shows.FUNCTION)
SET_UP_SCRIPTS = _showing(Shows.SCRIPT)
START_GROUP = _showing(Shows.GROUP)
# Wrappers that need a group, and what torch raises where there is none: a program that catches it goes on without one.
# Source: torch/distributed/distributed_c10d.py `_get_default_group`; before 2.1 it raised a RuntimeError.
NEED_GROUP = frozenset(name for name in CALLED_BY_EACH if name.endswith("DataParallel"))
OF_NO_GROUP = frozenset({"BaseException", "Exception", "RuntimeError", "ValueError"})
# Those of START_GROUP, without their module.
STARTS_OF_GROUP = frozenset(name.rpartition(".")[2] for name in START_GROUP)
# Of these, those with a name that no other library gives to something else, as apex does: `amp.initialize(model)`.
DISTINCT_STARTS = STARTS_OF_GROUP - {"initialize", "launch"}
# The one of torch, which raises if there is a group already, and what ends a group.
# Source: torch/distributed/distributed_c10d.py `init_process_group`
STARTED_ONCE = "init_process_group"
END_GROUP = frozenset({"destroy_process_group"})
# Of these, those that take the rank of the process as `rank`.
TAKE_RANK = frozenset({"init_distributed", "init_process_group"})
COUNT_DEVICES = {row.name: row.devices for row in STARTS if row.devices}
NAME_STRATEGY = {row.name: row.strategies for row in STARTS if row.strategies}
NAME_BACKEND = {row.name: row.backend for row in STARTS if row.backend is not None}

# Words in a list that is put together as a command: it starts several processes.
LAUNCH_WORDS = ("--nproc-per-node", "--nproc_per_node", "torch.distributed.launch", "torch.distributed.run")
# Code that runs commands.
RUNS_COMMAND = rb"\bsubprocess\.|\bos\.(?:exec\w+|popen|system)\(|\bPopen\("
