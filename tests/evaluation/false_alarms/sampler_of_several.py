# Only several processes have a sampler that divides the rows among them: whoever asks for it asks how many there are.
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Trainer:
    def __init__(self, net, loader, sampler, rank):
        self.net, self.loader, self.sampler, self.rank = net, loader, sampler, rank
        self.writer = SummaryWriter("logs") if rank == 0 else None

    def reduced(self, tensor):
        dist.all_reduce(tensor)
        return [tensor.cpu()]

    def run(self):
        loss = 0.0
        for rows in self.loader:
            loss += self.net(rows).mean().detach()
        shown = self.reduced(loss) if self.sampler is not None else [loss.cpu()]
        if self.writer is not None:
            self.writer.add_scalar("loss", shown[0].item(), 0)

    def run_alone(self):
        loss = 0.0
        for rows in self.loader:
            loss += self.net(rows).mean().detach()
        if self.sampler is None:
            dist.all_reduce(loss)
        if self.writer is not None:
            self.writer.add_scalar("loss", loss, 0)  # expect: TRL003


def make_sampler(args, rows):
    sampler = None
    if args.distributed:
        sampler = DistributedSampler(rows)
    return sampler


def main(args, net, rows, rank):
    if args.distributed:
        dist.init_process_group("nccl", rank=rank, world_size=args.processes)
    sampler = make_sampler(args, rows)
    trainer = Trainer(net, DataLoader(rows, sampler=sampler), sampler, rank)
    trainer.run()
    trainer.run_alone()


def validate(args, net, rows, split):
    if args.distributed:
        dist.init_process_group("nccl")
    sampler = None
    if args.distributed and split == "train":
        sampler = DistributedSampler(rows)
    writer = SummaryWriter("logs") if dist.get_rank() == 0 else None
    loss = 0.0
    for each in DataLoader(rows, sampler=DistributedSampler(rows)):
        loss += net(each).mean().detach()
    if sampler is not None:
        dist.all_reduce(loss)
    if writer is not None:
        writer.add_scalar("loss", loss, 0)  # expect: TRL003
