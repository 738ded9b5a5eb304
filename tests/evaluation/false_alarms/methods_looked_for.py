# A method of the module inside the wrapper that is looked up by name, and called, runs no forward.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)

    def new_cache(self):
        return torch.zeros(2, 2)

    def encoded(self, x):
        return self.linear(x)


def train_known(data):
    base = DDP(Net().cuda()).module
    optimizer = torch.optim.SGD(base.parameters(), lr=0.1)
    make, same, encode = getattr(base, "new_cache", None), base.new_cache, base.encoded
    for x in data:
        (base.linear.weight * (make() + same())).sum().backward()
        encode(x).sum().backward()  # expect: TRL009
        optimizer.step()


def train_unknown(net, data):
    base = DDP(net.cuda()).module
    optimizer = torch.optim.SGD(base.parameters(), lr=0.1)
    make = getattr(base, "new_cache", None)
    encode = getattr(base, "encoder", None)
    for x in data:
        (base.linear.weight * make()).sum().backward()
        encode(x).sum().backward()  # expect: TRL009
        optimizer.step()


def main(net, data):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    train_known(data)
    train_unknown(net, data)
