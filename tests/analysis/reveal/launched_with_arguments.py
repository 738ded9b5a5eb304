"""What launchers pass to the functions that they start: after the function itself, or before it."""

import ignite.distributed as idist
from fairseq import distributed_utils
from lightning.fabric import Fabric
from torch.distributed.launcher.api import elastic_launch


def of_torch(folder, size):
    reveal_rank(folder)  # revealed: unknown
    reveal_rank(size)  # revealed: unknown


def of_fairseq(settings, step):
    reveal_rank(settings)  # revealed: same
    reveal_rank(step)  # revealed: unknown


def of_ignite(number, folder):
    reveal_rank(number)  # revealed: local(rank)
    reveal_rank(folder)  # revealed: same


def of_fabric(fabric, folder):
    reveal_rank(fabric.global_rank)  # revealed: local(rank)
    reveal_rank(folder)  # revealed: same


elastic_launch({}, of_torch)("out", 2)
distributed_utils.call_main("settings.yaml", of_fairseq)
with idist.Parallel(backend="nccl") as parallel:
    parallel.run(of_ignite, "out")
Fabric(devices=2).launch(of_fabric, "out")
