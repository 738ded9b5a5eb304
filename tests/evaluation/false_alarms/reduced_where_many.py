# The value is reduced if there is more than one process.
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def world():
    return dist.get_world_size() if dist.is_initialized() else 1


def averaged(value):
    if world() == 1:
        return value
    dist.all_reduce(value)
    return value / world()


def summed(value):
    if not dist.is_available() or not dist.is_initialized():
        return value
    value = value.clone()
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    return value


def in_place(value, world_size):
    if world_size > 1:
        dist.all_reduce(value)
        value /= world_size
    return value


def train(network, dataset, optimizer):
    world_size = dist.get_world_size()
    model = DistributedDataParallel(network)
    loader = DataLoader(dataset, sampler=DistributedSampler(dataset))
    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        logs = {"a": averaged(loss.detach()), "b": summed(loss.detach())}
        logs["c"] = in_place(loss.detach().clone(), world_size).item()
        logs["d"] = averaged(loss.detach()) if dist.is_initialized() else loss.detach()
        scaled, *others = loss.detach().clone(), loss.detach().clone()
        dist.all_reduce(scaled.div_(world_size))
        dist.all_reduce_coalesced([others[0]])
        own = model(**batch).loss.item()
        if dist.is_initialized():
            dist.all_reduce(loss)
        if dist.get_rank() == 0:
            wandb.log(logs)
            wandb.log({"loss": loss.item()})
            wandb.log({"scaled": scaled.item(), "other": others[0].item()})
            wandb.log({"own": own})  # expect: TRL003


def main(network, dataset, optimizer):
    dist.init_process_group("nccl")
    train(network, dataset, optimizer)
