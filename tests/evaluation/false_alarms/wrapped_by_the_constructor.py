# Where a test says that the constructor has made no wrapper, the model is trained without one.
import os

import torch
import torch.distributed as dist
from mine import build, rows
from torch.nn.parallel import DistributedDataParallel


class Runner:
    def __init__(self, net, distributed):
        self.net = net
        self.wrapped = DistributedDataParallel(self.net) if distributed else None
        self.optimizer = torch.optim.SGD(net.parameters())

    def step(self, x):
        if self.wrapped:
            loss = self.wrapped(x).mean()
        else:
            print("alone")
            loss = self.net(x).mean()
        loss.backward()
        self.optimizer.step()

    def step_either(self, x):
        loss = self.net(x).mean() if self.wrapped is None else self.wrapped(x).mean()
        loss.backward()
        self.optimizer.step()

    def step_inside(self, x):
        if self.wrapped is not None:
            self.net(x).mean().backward()  # expect: TRL009
            self.optimizer.step()


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
runner = Runner(build().cuda(), dist.get_world_size() > 1)
for row in rows:
    runner.step(row.cuda())
    runner.step_either(row.cuda())
    runner.step_inside(row.cuda())
