# A run that the main process alone has started: what logs to "the current run" on all ranks raises on the others.
import torch.distributed as dist
import wandb


class Learner:
    def __init__(self, rank):
        if rank == 0:
            wandb.init(project="a")

    def train(self):
        for step in range(3):
            wandb.log({"step": step})  # expect: TRL008
            if wandb.run is not None:
                wandb.log({"seen": step})


def summary(rank):
    if rank == 0:
        wandb.log({"done": 1})


def main():
    dist.init_process_group("nccl")
    learner = Learner(dist.get_rank())
    learner.train()
    summary(dist.get_rank())


main()
