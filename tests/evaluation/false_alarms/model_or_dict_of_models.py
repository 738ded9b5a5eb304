# One function for a model and for a dict of models: where it takes items of the argument by its own keys, it is a dict.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train_all(models, rows):
    for key in models:
        models[key].train()
        models[key](rows).mean().backward()


def train_layers(models, rows):
    for layer in models:  # expect: TRL002
        layer.train()
        rows = layer(rows)
    rows.mean().backward()


def train_numbered(models, others, rows):
    for layer in models:  # expect: TRL002
        rows = others[layer](rows)
    rows.mean().backward()


def main(rows, others):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    head = DistributedDataParallel(nn.Linear(3, 3).cuda())
    body = DistributedDataParallel(nn.Sequential(nn.Linear(3, 3)).cuda())
    train_all({"head": head, "body": body}, rows)
    train_all(head, rows)
    train_layers(body, rows)
    train_numbered(body, others, rows)


if __name__ == "__main__":
    main(None, None)
