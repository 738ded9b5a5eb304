"""What chooses the backend that communicates, and the default device of new tensors.

The calls that start a process group, and name its backend, are in `process_starts`.

Read from torch 2.13 (distributed/distributed_c10d.py, __init__.py), accelerate 1.15 (accelerator.py, state.py,
utils/dataclasses.py), transformers 5.24 (training_args.py) and deepspeed 0.19 (comm/comm.py).
"""

from __future__ import annotations

# The layout of a table is by hand: one line per row.
# fmt: off
# The parameters of `new_group` that list its ranks (default: all) and name its backend (default: that of the group of
# all ranks).
NEW_GROUP_RANKS = (0, "ranks")
NEW_GROUP_BACKEND = (2, "backend")
# The method of a process group that gives the number of this process in it (torch/_C/_distributed_c10d.pyi).
RANK_IN_GROUP = "rank"
# Libraries that start the process group themselves, with nccl where there are GPUs: by the first part of a name …
CHOOSE_NCCL = frozenset({"accelerate", "deepspeed", "trl"})
# … and by classes, which may be base classes: also those whose objects a trainer runs.
START_NCCL = ("transformers.Trainer", "transformers.TrainerCallback", "transformers.TrainingArguments")
# Classes whose objects the trainer of Lightning runs, which takes nccl for processes on GPUs.
# Source: lightning/fabric/utilities/distributed.py `_get_default_process_group_backend_for_device`
RUN_BY_LIGHTNING = tuple(
    f"{package}.{name}"
    for package in ("lightning", "lightning.pytorch", "pytorch_lightning")
    for name in ("LightningModule", "Callback")
)
# Keywords that keep them on the CPU, and that name the backend.
STAY_ON_CPU = ("cpu", "no_cuda", "use_cpu")
NAMES_BACKEND = ("ddp_backend",)
# Functions that set the default device of tensors.
MAKE_TENSORS_ELSEWHERE = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
# Functions that choose the GPU of this process: it is `cuda:0` if all processes choose that one.
CHOOSE_GPU = frozenset({"torch.cuda.set_device"})
# Code that lets each process see or use a GPU of its own, or has a library do so. A file of the program may do it for
# all of them.
# Source: https://docs.pytorch.org/docs/stable/distributed.html#launch-utility (`torch.cuda.set_device`); Accelerate and
# DeepSpeed set it where they start (accelerate/state.py, deepspeed/comm/torch.py), as do mmcv
# (mmcv/runner/dist_utils.py), detectron2 (detectron2/engine/launch.py), Ignite (the native.py of its comp_models) and
# timm's `init_distributed_device` (timm/utils/distributed.py).
GIVES_OWN_GPU = (
    rb"\bset_device|VISIBLE_DEVICES|\bset_default_device\b|\bcuda\.device\(|SLURM_|\bsubmitit\b|\bray\b|\bhorovod\b"
    rb"|\bdeepspeed\b|\baccelerate\b|\blightning\b|\bpytorch_lightning\b|\btorch_xla\b|\bTrainingArguments\b"
    rb"|\bmmcv\b|\bmmengine\b|\bdetectron2\b|\bignite\b|\binit_distributed_device\b"
)
# Code that chooses it by the number of the process: what is put onto `cuda:0` is not there, then.
CHOOSES_OWN_GPU = (
    rb"\bset_device\([^\n]*(?i:rank|gpu)"
    # Or by a device that the lines above make of it: `device = f"cuda:{local_rank}"`, `set_device(device)`.
    # Lines have bounds: one of thousands of letters, such as a table in code, would be searched for minutes.
    rb"|\b(\w+)[ \t]*=[^\n]{0,80}\bcuda\b[^\n]{0,80}(?i:rank)[^\n]{0,80}\n"
    rb"(?:[^\n]{0,200}\n){0,4}[^\n]{0,80}\bset_device\(\1\)"
)
# Code that lets it see no other one: what is put onto `cuda:0` is there, then.
SEES_OWN_GPU = rb"VISIBLE_DEVICES[^\n]*(?i:rank|gpu(?:_?id)?\b)"
# Code that is written for several processes on one machine.
COUNTS_LOCAL_RANKS = rb"(?i)\blocal_?(?:process_)?(?:rank|index)|\.spawn\("
# The function that tells how many there are, by the last part of its name: one process may have all of them.
COUNTS_GPUS = "device_count"
# Functions that tell whether there are GPUs.
FIND_GPUS = frozenset({"torch.cuda.is_available"})
# Code that a class of these runs is one process, unless it starts others itself: a test, and what a server of cog asks,
# in the one process that it starts for that. Source: cog, python/cog/server/worker.py `Worker`, `_ChildWorker`.
ONE_PROCESS = frozenset(
    {"cog.BasePredictor", "cog.Predictor", "unittest.IsolatedAsyncioTestCase", "unittest.TestCase"}
)
# What pytest takes for a test by default (`python_files`, `python_classes` and `python_functions`): it runs all of them
# in one process.
TEST_FILES = ("test_*.py", "*_test.py")
TEST_CLASS = "Test"
TEST_FUNCTION = "test_"
# An address of the first process that no other machine can reach. A default for a missing address says nothing: a
# launcher sets one.
LOCAL_ADDRESS = (
    rb"""(?<!get\(['"])(?<!getenv\(['"])MASTER_ADDR['"]?(?:[\]\s:=,(]+|\],[^=\n]+=\s*\(?)['"](?:localhost|127\.0\.0\.1)"""
    rb"""|tcp://(?:localhost|127\.0\.0\.1)"""
)
# Code that starts the process group, or has a library do so, wherever the processes are. `deepspeed.initialize` takes
# the group that there is.
STARTS_ANY_GROUP = (
    rb"(?m)\b(?:init_dist|init_distributed|init_process_group|\w*TrainingArguments)\("
    rb"|^\s*(?:import|from)\s+(?:accelerate|(?:pytorch_)?lightning)\b"
)
# Each match contains one of these; searching for them is many times faster.
GROUP_WORDS = (b"init_dist", b"init_process_group(", b"TrainingArguments(", b"accelerate", b"lightning")
# Names in code that starts processes on several machines.
COUNTS_NODES = rb"(?i)(?:machine|node)s?(?:\b|_|\d)"
# A program that sees one GPU, however it is started, is one process, and so is one that serves a page.
SEES_ONE_GPU = (
    rb"""(?m)^os\.environ(?:\[['"]CUDA_VISIBLE_DEVICES['"]\]\s*=|"""
    rb"""\.update\(\s*\{(?:[^{}#]|#.*\n)*?['"]CUDA_VISIBLE_DEVICES['"]:)\s*['"]\d+['"]"""
)
SINGLE_PROCESS = SEES_ONE_GPU + rb"|^(?:import|from) (?:gradio|streamlit)\b"
# Torch's type of Apple's GPU: a machine has one, and no backend of torch.distributed takes its tensors.
# Source: https://docs.pytorch.org/docs/stable/distributed.html#backends
ONLY_DEVICE = "mps"
# A program that waits for Ray is the only process that drives the others. Source: ray/_private/worker.py `get`.
DRIVES_RAY = rb"\bray\.get\("
# A class of which Ray creates objects in other processes, `ray.remote(Worker)`. Source: the same file, `remote`.
MAKES_WORKERS = rb"\bray\.remote\("
# A class whose objects Ray runs, each in a process of its own.
# Source: https://docs.ray.io/en/latest/ray-core/actors.html
ACTOR_OF_RAY = rb"@(?:ray\.)?remote\b"
# A program that sets its own rank to 0 may be the only process.
SETS_FIRST_RANK = rb"""(?:setdefault\(|environ\[)['"](?:LOCAL_)?RANK['"]\s*(?:,|\]\s*=(?!=))\s*['"]0['"]"""
# Tests of the rank of a TPU core, which say nothing about GPUs. Source: torch_xla/core/xla_model.py.
ASKS_TPU = frozenset({"is_master_ordinal"})
# The members of Accelerate's `DistributedType` under which its `prepare_model` wraps no model in DDP (TPU was renamed
# to XLA in 0.27).
BARE_KINDS = frozenset({"TPU", "XLA"})
# Device maps that spread one model over all GPUs (transformers, modeling_utils.py). Accelerate's `prepare_model`
# refuses such a model on several processes.
SPREADING = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
# With this variable set, it does not (accelerate, accelerator.py, `prepare_model`).
ALLOWS_SPREAD = rb"ACCELERATE_BYPASS_DEVICE_MAP"
# For Trainer, a device without an index is another one than its own (`cuda:0`): it takes the model for a spread one,
# and does not wrap it (transformers: trainer.py, `is_model_parallel`).
ANY_GPU = "cuda"
# fmt: on
