# The rank that a helper passes on to the process group: files that it names are this rank's own, what it has is, too.
import torch
import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def set_up(me, size):
    dist.init_process_group("nccl", rank=me, world_size=size)


def run(number, size, model, batches):
    set_up(number, size)
    if number == 0:
        writer = SummaryWriter("runs")
    for batch in batches:
        loss = model(batch)
        if number == 0:
            writer.add_scalar("loss", loss)
    torch.save(model, f"model_{number}.pt")
    torch.save(model, "model.pt")  # expect: TRL008
    writer.close()  # expect: TRL017


def run_apart(number, size, part, model):
    set_up(number, size)
    if part == 0:
        writer = SummaryWriter("runs")
        writer.close()
    if number == 0:
        torch.save(model, "model.pt")
