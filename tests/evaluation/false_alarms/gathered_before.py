# Tensors that were gathered by all ranks are whole: a test asks whether they still have to be.
import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard


def whole(value):
    if hasattr(value, "full_tensor"):
        value = value.full_tensor()
    return value.detach().cpu()


def save(model, path):
    state = {}
    for name, parameter in model.named_parameters():
        state[name] = whole(parameter)
    if dist.get_rank() == 0:
        torch.save({name: whole(each) for name, each in state.items()}, path)


def save_at_once(model, path):
    if dist.get_rank() == 0:
        torch.save({name: each.full_tensor() for name, each in model.named_parameters()}, path)  # expect: TRL006


def main(model):
    dist.init_process_group("nccl")
    fully_shard(model)
    save(model, "x.pt")
    save_at_once(model, "x.pt")
