# A checkpoint that all ranks write in parts, also in the background, each a whole one, or the ranks of a group.
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

dist.init_process_group("cpu:gloo,cuda:nccl")
rank = int(os.environ["RANK"])


def train(model, loader, folder):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
    fully_shard(model, mesh=mesh)
    saving = None
    for step, batch in enumerate(loader):
        model(batch).mean().backward()
        if saving is not None:
            saving.result()
        if rank == 0 and step % 100 == 0:
            saving = dcp.async_save({"step": step}, checkpoint_id=f"{folder}/{step}")  # expect: TRL006
        if step % 100 == 0:
            saving = dcp.async_save({"step": step}, checkpoint_id=f"{folder}/{step}")


def saves_alone(state, folder):
    if rank == 0:
        dcp.save(state, checkpoint_id=folder, no_dist=True)


def saves_in_its_group(state, folder):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("replicate", "shard"))
    if mesh["replicate"].get_local_rank() == 0:
        dcp.save(state, checkpoint_id=folder, process_group=mesh["shard"].get_group())


def loads(state, folder):
    if rank == 0:
        dcp.load(state, checkpoint_id=folder)  # expect: TRL006


net, state = torch.nn.Linear(4, 4), {}
loads(state, "last")
train(net, torch.ones(9, 4), "out")
saves_alone(state, "alone")
saves_in_its_group(state, "group")
