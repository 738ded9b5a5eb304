"""Who says which backend communicates, and where tensors are made that are not told where.

What starts a process group, and names its backend, stands in `process_starts`.

Read from torch 2.13 (distributed/distributed_c10d.py, __init__.py), accelerate 1.15 (accelerator.py, state.py,
utils/dataclasses.py), transformers 5.23 (training_args.py) and deepspeed 0.18 (comm/comm.py).
"""

from __future__ import annotations

# The layout of a table is by hand: one line per row.
# fmt: off
# The parameter of `new_group` that names its backend: the one of all ranks by default, whose group has names, too.
OWN_GROUP_BACKEND = (2, "backend")
ALL_RANKS = frozenset({"torch.distributed.GroupMember.WORLD", "torch.distributed.group.WORLD"})
# Libraries that start the process group themselves, with nccl where there are GPUs: by the first part of a name …
CHOOSE_NCCL = frozenset({"accelerate", "deepspeed", "trl"})
# … and by classes, from which they may be derived.
START_NCCL = ("transformers.Trainer", "transformers.TrainingArguments")
# Keywords by which they are told to stay on the CPU, and what for.
STAY_ON_CPU = ("cpu", "no_cuda", "use_cpu")
NAMES_BACKEND = ("ddp_backend",)
# Functions that decide where tensors are made from then on.
MAKE_TENSORS_ELSEWHERE = frozenset({"torch.set_default_device", "torch.set_default_tensor_type"})
# Functions that choose the GPU of this process, which `cuda:0` is where all choose that one.
CHOOSE_GPU = frozenset({"torch.cuda.set_device"})
# What is made and run by a class of these is one process, unless it starts others itself.
ONE_PROCESS = frozenset({"unittest.IsolatedAsyncioTestCase", "unittest.TestCase"})
# What pytest takes for a test where it is told nothing else (the defaults of `python_files`, `python_classes` and
# `python_functions`): it runs all of them in one process.
TEST_FILES = ("test_*.py", "*_test.py")
TEST_CLASS = "Test"
TEST_FUNCTION = "test_"
# The address of the first process, which no other machine can reach. What stands in for an address that is not given
# says nothing: a launcher gives one.
OWN_ADDRESS = (
    rb"""(?<!get\(['"])(?<!getenv\(['"])MASTER_ADDR['"]?(?:[\]\s:=,(]+|\],[^=\n]+=\s*\(?)['"](?:localhost|127\.0\.0\.1)"""
    rb"""|tcp://(?:localhost|127\.0\.0\.1)"""
)
# A program that is shown one GPU, whoever starts it, is one process, and so is one that serves a page.
ALONE = (
    rb"""(?m)^os\.environ\[['"]CUDA_VISIBLE_DEVICES['"]\]\s*=\s*['"]\d+['"]"""
    rb"""|^(?:import|from) (?:gradio|streamlit)\b"""
)
# A program that waits for Ray is the one process that drives the others. Source: ray/_private/worker.py `get`.
DRIVES_RAY = rb"\bray\.get\("
# A program that says itself that it is the first process may be the only one.
SAYS_FIRST = rb"""(?:setdefault\(|environ\[)['"](?:LOCAL_)?RANK['"]\s*(?:,|\]\s*=(?!=))\s*['"]0['"]"""
# What asks for the rank of a TPU core, and says nothing of GPUs. Source: torch_xla/core/xla_model.py.
ASKS_TPU = frozenset({"is_master_ordinal"})
# The members of Accelerate's `DistributedType` under which its `prepare_model` wraps no model in DDP (TPU was renamed
# to XLA in 0.27).
BARE_KINDS = frozenset({"TPU", "XLA"})
# Device maps that spread one model over all GPUs (transformers, modeling_utils.py). Accelerate's `prepare_model`
# refuses such a model on several processes.
SPREADING = frozenset({"auto", "balanced", "balanced_low_0", "sequential"})
# One without an index is to Trainer another device than its own (`cuda:0`): it takes the model for spread, and wraps
# nothing (transformers: trainer.py, `is_model_parallel`).
ANY_GPU = "cuda"
# fmt: on
