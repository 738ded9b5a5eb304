# That one metric is reduced before a helper logs it says nothing of another one that the helper logs.
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Tracker:
    def __init__(self):
        self.run = wandb.init(project="pairs") if dist.get_rank() == 0 else None

    def log(self, values, step):
        if self.run is not None:
            self.run.log(values, step=step)


def mean_over_ranks(value):
    value = value.detach().clone()
    dist.all_reduce(value, op=dist.ReduceOp.AVG)
    return value.item()


@torch.no_grad()
def accuracy(model, loader):
    right = seen = 0
    for x, y in loader:
        right += (model(x.cuda()).argmax(1) == y.cuda()).sum().item()
        seen += len(x)
    return right / max(seen, 1)


def main(rows, held_out, net):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(net.cuda())
    sampler = DistributedSampler(rows)
    judged = DataLoader(held_out, sampler=DistributedSampler(held_out, shuffle=False))
    tracker = Tracker()
    for step, (x, y) in enumerate(DataLoader(rows, sampler=sampler)):
        loss = torch.nn.functional.cross_entropy(model(x.cuda()), y.cuda())
        loss.backward()
        tracker.log({"loss": mean_over_ranks(loss)}, step)
        if step % 100 == 0:
            tracker.log({"test/accuracy": accuracy(model, judged)}, step)  # expect: TRL003


if __name__ == "__main__":
    from data import held_out, net, rows

    main(rows, held_out, net)
