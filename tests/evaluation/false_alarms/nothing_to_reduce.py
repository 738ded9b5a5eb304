# A function that averages metrics over the ranks leaves at once where there are none, or where there is one process:
# what it returns there is not a rank's own.
import settings
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
rank, world_size = dist.get_rank(), dist.get_world_size()
model = DistributedDataParallel(torch.nn.Linear(4, 1).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
rows = torch.randn(64, 4)
loader = DataLoader(rows, sampler=DistributedSampler(rows))


def averaged(values, **more):
    flat = torch.tensor([values[name] for name in sorted(values)]).cuda()
    dist.all_reduce(flat, **more)
    return dict(zip(sorted(values), (flat / world_size).tolist(), strict=True))


def unless_empty(values):
    if not values:
        return values
    return averaged(values)


def unless_one_or_empty(values, world_size):
    if world_size == 1 or len(values) == 0:
        print("nothing to average")
        return dict(values)
    return averaged(values)


def unless_without_keys(values):
    keys = sorted(values.keys())
    if not keys or not settings.distributed:
        return values
    return averaged(values)


def unless_one_by_settings(values):
    if settings.world_size <= 1:
        return values
    return averaged(values)


def unless_without_group(values, group):
    if group is None:
        return values
    flat = torch.tensor(list(values.values())).cuda()
    dist.all_reduce(flat, group=group)
    return dict(zip(values, flat.tolist(), strict=True))


def in_place(values):
    if values is None:
        return None
    for name in sorted(values):
        mean = torch.tensor(values[name]).cuda()
        dist.all_reduce(mean)
        values[name] = mean.item() / world_size
    return values


class Averages:
    def of(self, values):
        if not values:
            return {}
        return averaged(values)


def if_small(values):
    if settings.quick or not values:
        return values
    return averaged(values)


def unless_many(values):
    if settings.world_size > 1:
        return values
    return averaged(values)


def unless_other(values, other):
    if other is None:
        return values
    return averaged(values)


def never(values):
    if not values:
        return values
    return {name: value / world_size for name, value in values.items()}


for batch in loader:
    loss = model(batch.cuda()).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    one = unless_empty({"loss": loss.item()})
    two = unless_one_or_empty({"loss": loss.item()}, world_size)
    three = unless_without_keys({"loss": loss.item()})
    four = unless_one_by_settings({"loss": loss.item()})
    five = unless_without_group({"loss": loss.item()}, settings.group())
    six = Averages().of({"loss": loss.item()})
    seven = in_place({"loss": loss.item()})
    small = if_small({"loss": loss.item()})  # expect: TRL003
    many = unless_many({"loss": loss.item()})  # expect: TRL003
    other = unless_other({"loss": loss.item()}, settings.other)  # expect: TRL003
    own = never({"loss": loss.item()})  # expect: TRL003
    if rank == 0:
        for each in (one, two, three, four, five, six, seven, small, many, other, own):
            wandb.log(each)
