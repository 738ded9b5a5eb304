# Losses of what all ranks draw with one seed are alike, unless something else is in them: rows of each rank.
import torch
import torch.distributed as dist
import torch.nn.functional as F
import wandb
from nets import Disc, Gen
from torch.nn.parallel import DistributedDataParallel as DDP


def train(generator, discriminator, opt_g, opt_d, rows, rank):
    for _ in range(1000):
        z = torch.randn(8, 64)
        loss_g = F.softplus(-discriminator(generator(z))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        x = rows.next()
        noisy = x + torch.randn(8, 64)
        loss_d = F.softplus(discriminator(noisy)).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        if rank == 0:
            wandb.log({"generator": loss_g.item()})
            wandb.log({"discriminator": loss_d.item()})  # expect: TRL003


def main(rows):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    generator, discriminator = DDP(Gen()), DDP(Disc())
    opt_g, opt_d = torch.optim.Adam(generator.parameters()), torch.optim.Adam(discriminator.parameters())
    train(generator, discriminator, opt_g, opt_d, rows, dist.get_rank())
