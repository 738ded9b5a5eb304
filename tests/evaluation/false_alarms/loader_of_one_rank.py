# Only rank 0 has the loader of the test data, which is whole: what it computes with it is no rank's own part.
import torch
import torch.distributed as dist
import wandb
from corpus import Rows
from torch.utils.data import DataLoader, DistributedSampler


class Trainer:
    def __init__(self, rank, model, loader, test_loader):
        self.rank = rank
        self.model = model
        self.loader = loader
        self.test_loader = test_loader

    def test(self):
        classes = self.model.module(torch.from_numpy(self.test_loader.dataset.classes))
        scores = [self.model.module(row["x"]) @ classes for row in self.test_loader]
        wandb.log({"test/score": torch.cat(scores).mean()})

    def validate(self):
        scores = [self.model.module(row["x"]).mean() for row in self.loader]
        wandb.log({"score": torch.stack(scores).mean()})  # expect: TRL003


def main(rank, config):
    dist.init_process_group("nccl", rank=rank)
    rows = Rows(config)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    loader = DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows, shuffle=False))
    test_loader = DataLoader(Rows(config), batch_size=4) if rank == 0 else None
    trainer = Trainer(rank, model, loader, test_loader)
    if rank == 0:
        wandb.init(project="one rank")
        with torch.no_grad():
            trainer.test()
            trainer.validate()


if __name__ == "__main__":
    torch.multiprocessing.spawn(main, args=({},), nprocs=8)
