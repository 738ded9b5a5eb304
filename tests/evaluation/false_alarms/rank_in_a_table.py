# A dict of the module holds the rank; until the process group is started, it is 0.
import torch
import torch.distributed as dist

config = dict(rank=0, world_size=1)


def start():
    dist.init_process_group("nccl")
    config["rank"] = dist.get_rank()
    config["world_size"] = dist.get_world_size()


def save(model, path):
    state = model.state_dict()
    if config["rank"] == 0:
        torch.save(state, path)


def main(model):
    start()
    save(model, "model.pt")
