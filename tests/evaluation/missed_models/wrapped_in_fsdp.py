# FSDP shards a model: all ranks gather its parameters whenever one of them runs it.
import torch
import torch.distributed as dist
from somewhere import load
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import ShardingStrategy
from torch.utils.data import DataLoader, DistributedSampler


def train(rows):
    dist.init_process_group("nccl")
    model = FSDP(load())
    optimizer = torch.optim.Adam(model.parameters())
    for batch in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss = model(batch).mean()
        if loss.item() > 2:
            continue  # expect: TRL006
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def shows(rows):
    dist.init_process_group("nccl")
    model = FSDP(load()).eval()
    with torch.no_grad():
        shown = model(rows[0])
        if dist.get_rank() == 0:
            print(shown)
            print(model(rows[1]))  # expect: TRL016


def generates(prompt):
    dist.init_process_group("nccl")
    model = FSDP(load()).eval()
    if dist.get_rank() == 0:
        print(model.generate(prompt))  # expect: TRL016


def of_a_group(rows, group):
    dist.init_process_group("nccl")
    model = FSDP(load(), process_group=group).eval()
    with torch.no_grad():
        if dist.get_rank() == 0:
            print(model(rows[0]))


def of_a_mesh(rows, mesh):
    dist.init_process_group("nccl")
    model = FSDP(load(), device_mesh=mesh).eval()
    with torch.no_grad():
        if dist.get_rank() == 0:
            print(model(rows[0]))


def whole(rows):
    dist.init_process_group("nccl")
    model = FSDP(load(), sharding_strategy=ShardingStrategy.NO_SHARD).eval()
    with torch.no_grad():
        if dist.get_rank() == 0:
            print(model(rows[0]))


def gathered(rows):
    dist.init_process_group("nccl")
    model = FSDP(load()).eval()
    copy = load()
    with FSDP.summon_full_params(model):
        if dist.get_rank() == 0:
            copy.load_state_dict(model.state_dict())
    if dist.get_rank() == 0:
        print(copy(rows[0]))
