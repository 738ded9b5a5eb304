# Where the code shards a model itself, the main process alone has its part of the weights, or waits for the others.
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from somewhere import load
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy, fully_shard
from torch.nn.parallel import DistributedDataParallel


def sharded(**options):
    dist.init_process_group("nccl")
    model = load()
    for block in model.blocks:
        fully_shard(block, **options)
    fully_shard(model, **options)
    return model


def part_of_the_first(path):
    model = sharded()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # expect: TRL027


def in_a_checkpoint(path, step):
    model = sharded()
    if dist.get_rank() == 0:
        torch.save({"model": model.state_dict(), "step": step}, path)  # expect: TRL027


def asked_by_all(path):
    model = sharded()
    weights = model.state_dict()  # expect: TRL027
    if dist.get_rank() == 0:
        torch.save(weights, path)


def by_its_own_method(folder):
    model = sharded()
    if dist.get_rank() == 0:
        model.save_pretrained(folder)  # expect: TRL027


def part_of_each(folder):
    model = sharded()
    torch.save(model.state_dict(), f"{folder}/{dist.get_rank()}.pt")


def parts_of_the_first_copy(folder):
    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("copy", "part"))
    model = sharded(mesh=mesh)
    if mesh["copy"].get_local_rank() == 0:
        torch.save(model.state_dict(), f"{folder}/{mesh['part'].get_local_rank()}.pt")


def by_all_together(folder):
    dcp.save({"model": sharded().state_dict()}, checkpoint_id=folder)


def gathered(path):
    model = sharded()
    weights = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    if dist.get_rank() == 0:
        torch.save(weights, path)
        model.save_pretrained(path, state_dict=weights)


def gathered_in_place(path):
    weights = sharded().state_dict()
    for name, each in weights.items():
        weights[name] = each.full_tensor()
    if dist.get_rank() == 0:
        torch.save(weights, path)


def gathered_out_of_sight(path, whole):
    model = sharded()
    weights = model.state_dict()
    whole(weights)
    if dist.get_rank() == 0:
        torch.save(weights, path)


def before_it_is_sharded(path):
    dist.init_process_group("nccl")
    model = load()
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
    fully_shard(model)


def waits(path):
    dist.init_process_group("nccl")
    model = FSDP(load())
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)  # expect: TRL016


def asks_on_all(path):
    dist.init_process_group("nccl")
    model = FSDP(load())
    weights = model.state_dict()
    if dist.get_rank() == 0:
        torch.save(weights, path)


def not_sharded(path):
    dist.init_process_group("nccl")
    model = FSDP(load(), sharding_strategy=ShardingStrategy.NO_SHARD)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)


def replicated(path):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(load())
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), path)
