# A copy of the settings says that there is one process: what is made with it has no wrapper, and waits for no rank.
import copy

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Agent:
    def __init__(self, args):
        self.args = args
        self.model = torch.nn.Linear(4, 4).cuda()
        self._wrap()

    def _wrap(self):
        if self.args.world_size <= 1:
            return
        self.model = DistributedDataParallel(self.model)

    def test(self, rows):
        return [self.model(row) for row in rows]


def build(options):
    model = torch.nn.Linear(4, 4).cuda()
    if options.distributed:
        model = DistributedDataParallel(model)
    return model


def on_one_process(args):
    alone = copy.copy(args)
    alone.distributed = False
    return alone


def train(args, rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    agent = Agent(args)
    for _ in range(args.epochs):
        agent.test(rows)
        if dist.get_rank() == 0:
            alone = copy.deepcopy(args)
            alone.world_size = 1
            tested = Agent(alone)
            tested.test(rows)
    if dist.get_rank() == 0:
        agent.test(rows)  # expect: TRL006
    dist.barrier()
    if dist.get_rank() == 0:
        Agent(copy.deepcopy(args))  # expect: TRL006
    dist.barrier()


def evaluate(args, rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    if dist.get_rank() == 0:
        model = build(on_one_process(args))
        model(rows)
        both = copy.deepcopy(args)
        both.distributed = True
        build(both)  # expect: TRL006
    dist.barrier()


def validate(args):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    if dist.get_rank() == 0:
        some = copy.deepcopy(args)
        if args.alone:
            some.world_size = 1
        Agent(some)  # expect: TRL006
    dist.barrier()
    if dist.get_rank() == 0:
        changed = copy.deepcopy(args)
        changed.world_size = 1
        changed.world_size = args.processes
        Agent(changed)  # expect: TRL006
    dist.barrier()
