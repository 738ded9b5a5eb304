# A meter that replaces its mean by the mean over all ranks counts that as one sample from then on.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Mean:
    def __init__(self):
        self.total = 0.0
        self.samples = 0

    def add(self, value, samples=1):
        self.total += value * samples
        self.samples += samples

    def over_ranks(self):
        mean = torch.tensor(self.total / self.samples, device="cuda")
        dist.all_reduce(mean)
        self.total = mean.item() / dist.get_world_size()
        self.samples = 1

    @property
    def value(self):
        return self.total / self.samples


class OwnMean(Mean):
    def over_ranks(self):
        self.total = self.total / self.samples
        self.samples = 1


@torch.no_grad()
def evaluate(loader, model):
    mean = Mean()
    for x, y in loader:
        right = (model(x.cuda()).argmax(1) == y.cuda()).float()
        mean.add(right.mean().item(), len(x))
    mean.over_ranks()
    return mean.value


@torch.no_grad()
def evaluate_own(loader, model):
    mean = OwnMean()
    for x, y in loader:
        right = (model(x.cuda()).argmax(1) == y.cuda()).float()
        mean.add(right.mean().item(), len(x))
    mean.over_ranks()
    return mean.value


def main(rows, net):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(net.cuda())
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False), batch_size=8)
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    reduced = evaluate(loader, model)
    own = evaluate_own(loader, model)
    if writer is not None:
        writer.add_scalar("test/accuracy", reduced, 0)
        writer.add_scalar("test/own_accuracy", own, 0)  # expect: TRL003


if __name__ == "__main__":
    from data import network, rows

    main(rows, network())
