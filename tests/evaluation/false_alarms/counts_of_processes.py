# A value is reduced where there are several processes, whatever the number of them is called.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def reduced(tensor, nprocs):
    total = tensor.clone()
    dist.all_reduce(total)
    return total / nprocs


def train(model, loader, nprocs):
    several = nprocs > 1
    losses = []
    for rows in loader:
        loss = model(rows).mean()
        loss.backward()
        parts = {"loss": loss}
        parts = {k: reduced(v.detach(), nprocs).item() if several else v.item() for k, v in parts.items()}
        losses.append(parts["loss"])
    return sum(losses) / len(losses)


def test(settings, model, loader):
    right = 0
    for rows in loader:
        found = (model(rows) > 0).sum()
        if settings.DEVICE.num_gpu > 1:
            dist.all_reduce(found)
        right += found.item()
    return right / len(loader)


def test_of_share(settings, model, loader):
    right = 0
    for rows in loader:
        found = (model(rows) > 0).sum()
        if settings.DEVICE.is_shown:
            dist.all_reduce(found)
        right += found.item()
    return right / len(loader)


def main(local_rank, nprocs, settings, model, rows):
    dist.init_process_group("nccl", rank=local_rank, world_size=nprocs)
    model = DDP(model)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    loss = train(model, loader, nprocs)
    right = test(settings, model, loader)
    own = test_of_share(settings, model, loader)
    if local_rank == 0:
        writer = SummaryWriter("x")
        writer.add_scalar("loss", loss, 1)
        writer.add_scalar("right", right, 1)
        writer.add_scalar("own", own, 1)  # expect: TRL003


def spawn(settings, model, rows):
    torch.multiprocessing.spawn(main, nprocs=8, args=(8, settings, model, rows))
