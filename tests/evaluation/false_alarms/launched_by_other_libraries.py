"""Functions that the launchers of other libraries run in several processes, and one that nothing launches."""

import ignite.distributed as idist
import torch
import torch_xla.distributed.xla_multiprocessing as xmp
from detectron2.engine import launch
from fairseq import distributed_utils
from lightning.fabric import Fabric
from ray.train import ScalingConfig
from ray.train.torch import TorchTrainer
from torch.distributed.launcher.api import LaunchConfig, elastic_launch


def of_ray(config):
    with open("ray.txt", "w") as file:  # expect: TRL008
        file.write("done")


def of_detectron(folder):
    with open(folder + "/detectron.txt", "w") as file:  # expect: TRL008
        file.write("done")


def of_fairseq(cfg):
    with open(cfg.log_file, "w") as file:  # expect: TRL008
        file.write("done")


def of_ignite(local_rank, config):
    with open("ignite.txt", "w") as file:  # expect: TRL008
        file.write("done")
    with open(f"ignite{local_rank}.txt", "w") as file:
        file.write("done")
    if local_rank == 0:
        with open("first.txt", "w") as file:
            file.write("done")


def of_xla(index):
    torch.save({}, f"{index}.pt")
    torch.save({}, "xla.pt")  # expect: TRL008


def of_torch():
    with open("elastic.txt", "w") as file:  # expect: TRL008
        file.write("done")


def of_fabric(fabric, folder):
    with open("fabric.txt", "w") as file:  # expect: TRL008
        file.write("done")
    if fabric.is_global_zero:
        with open("zero.txt", "w") as file:
            file.write("done")


def alone():
    with open("alone.txt", "w") as file:
        file.write("done")


def main(args):
    TorchTrainer(of_ray, scaling_config=ScalingConfig(num_workers=2, use_gpu=True)).fit()
    launch(of_detectron, 2, args=("out",))
    distributed_utils.call_main(args, of_fairseq)
    with idist.Parallel(backend="nccl", nproc_per_node=2) as parallel:
        parallel.run(of_ignite, {})
    xmp.spawn(of_xla)
    elastic_launch(LaunchConfig(min_nodes=1, max_nodes=1, nproc_per_node=2), of_torch)()
    Fabric(devices=2).launch(of_fabric, "out")
