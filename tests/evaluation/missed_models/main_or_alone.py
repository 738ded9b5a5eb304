# A flag for the main process that is True where there is one process, beside how far a resumed training is.
import os

import torch
import torch.distributed as dist

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    dist.init_process_group("nccl")
    ddp_rank = int(os.environ["RANK"])
    master_process = ddp_rank == 0
else:
    ddp_rank = 0
    master_process = True


def mean_loss(losses):
    mean = losses.mean()
    if ddp:
        dist.all_reduce(mean, op=dist.ReduceOp.AVG)
    return mean.item()


def train(losses, every):
    iter_num = torch.load("ckpt.pt")["iter_num"]
    while iter_num < 1000:
        if iter_num % every == 0:
            mean = mean_loss(losses)
            if master_process:
                print(mean)
        if iter_num % every == 0 and master_process:
            print(mean_loss(losses))  # expect: TRL006
        if iter_num % every == 0 and not ddp:
            print(mean_loss(losses))
        iter_num += 1


def train_with_options(losses, every):
    wanted = torch.load("ckpt.pt")["wanted"]
    several = ddp
    if wanted > 3:
        several = True
    if wanted % every == 0 and several:
        print(mean_loss(losses))


if __name__ == "__main__":
    train(torch.zeros(3).cuda(), 10)
    train_with_options(torch.zeros(3).cuda(), 10)
