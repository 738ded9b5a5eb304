# FSDP 2 wraps nothing: it changes the model that it is passed, which all ranks run from then on.
import torch
import torch.distributed as dist
from somewhere import load
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def shard(model, **options):
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    return model


def train(rows):
    dist.init_process_group("nccl")
    model = load()
    fully_shard(model)
    optimizer = torch.optim.Adam(model.parameters())
    for batch in rows:
        loss = model(batch["x"]).mean()
        if loss.item() > 2:
            continue  # expect: TRL006
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def trains_parts(rows):
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("stage", "data"))
    model = load()
    fully_shard(model, mesh=mesh["data"])
    for batch in rows:
        loss = model(batch["x"]).mean()
        if loss.item() > 2:
            continue  # expect: TRL006
        loss.backward()


def shows(rows):
    dist.init_process_group("nccl")
    model = shard(load()).eval()
    with torch.no_grad():
        shown = model(rows[0])
        if dist.get_rank() == 0:
            print(shown)
            print(model(rows[1]))  # expect: TRL016


def shows_of_a_mesh(rows):
    dist.init_process_group("nccl")
    model = shard(load(), mesh=init_device_mesh("cuda", (dist.get_world_size(),))).eval()
    with torch.no_grad():
        if dist.get_rank() == 0:
            print(model(rows[1]))  # expect: TRL016


def first_stage(rows):
    dist.init_process_group("nccl")
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("stage", "data"))
    model = load()
    fully_shard(model, mesh=mesh["data"])
    if mesh["stage"].get_local_rank() == 0:
        model(rows[0]).mean().backward()


def reads(rows):
    dist.init_process_group("nccl")
    model = load()
    fully_shard(model)
    if dist.get_rank() == 0:
        print(model.config, model.training)


def of_a_copy(rows):
    dist.init_process_group("nccl")
    model, copy = load(), load()
    fully_shard(model)
    if dist.get_rank() == 0:
        print(copy(rows[0]))
