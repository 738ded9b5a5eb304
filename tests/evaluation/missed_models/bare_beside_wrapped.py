# Models without a wrapper that are trained in the loop that trains another one with it.
import torch
import torch.distributed as dist
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Generator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)

    def forward(self, z):
        return self.body(z)


class Discriminator(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, 1)

    def forward(self, x):
        return self.body(x)


class Part(nn.Module):
    """The classes of one rank."""

    def __init__(self, width, classes, rank, world_size):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes // world_size, width))
        self.first = classes // world_size * rank

    def forward(self, x):
        return x @ self.weight.T


def requires_grad(model, flag):
    for p in model.parameters():
        p.requires_grad_(flag)


def wrapped(model):
    return DDP(model)


def beside(loader, width):
    generator, discriminator = DDP(Generator(width).cuda()), Discriminator(width).cuda()
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    for x in loader:
        requires_grad(discriminator, True)
        with torch.no_grad():
            fake = generator(x)
        loss = F.softplus(discriminator(fake)).mean()  # expect: TRL009
        d_optim.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(discriminator.parameters(), 1.0)
        d_optim.step()
        requires_grad(discriminator, False)
        g_optim.zero_grad()
        F.softplus(-discriminator(generator(x))).mean().backward()
        g_optim.step()


def with_a_penalty(loader, width):
    generator, discriminator = DDP(Generator(width).cuda()), Discriminator(width).cuda()
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    for x in loader:
        x.requires_grad_(True)
        score = discriminator(x).mean()  # expect: TRL009
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        d_optim.zero_grad()
        (score + slope.square().mean()).backward()
        d_optim.step()
        g_optim.zero_grad()
        F.softplus(-discriminator(generator(x))).mean().backward()
        g_optim.step()


def in_a_wrapper(loader, width):
    generator, discriminator = DDP(Generator(width).cuda()), Discriminator(width).cuda()
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    discriminator = wrapped(discriminator)
    for x in loader:
        discriminator(generator(x).detach()).mean().backward()
        d_optim.step()
        (-discriminator(generator(x))).mean().backward()
        g_optim.step()


def kept_in_a_list(loader, width, wrap_all):
    generator, discriminator = DDP(Generator(width).cuda()), Discriminator(width).cuda()
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    wrap_all([generator, discriminator])
    for x in loader:
        discriminator(generator(x).detach()).mean().backward()
        d_optim.step()
        (-discriminator(generator(x))).mean().backward()
        g_optim.step()


def reduced_by_hand(loader, width):
    generator, discriminator = DDP(Generator(width).cuda()), Discriminator(width).cuda()
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    for x in loader:
        discriminator(generator(x).detach()).mean().backward()
        for each in discriminator.parameters():
            gradient = each.grad
            dist.all_reduce(gradient)
        d_optim.step()
        (-discriminator(generator(x))).mean().backward()
        g_optim.step()


def without_a_step(loader, width):
    """It is not trained: its optimizer takes no step in this loop."""
    generator, discriminator = DDP(Generator(width).cuda()), Discriminator(width).cuda()
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    for x in loader:
        (-discriminator(generator(x))).mean().backward()
        g_optim.step()
    for x in loader:  # in another loop, each rank trains one of its own
        discriminator(x).mean().backward()
        d_optim.step()


def part_of_a_rank(loader, width):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    backbone, head = DDP(Generator(width).cuda()), Part(width, 1000, rank, world_size).cuda()
    optimizer = torch.optim.SGD(backbone.parameters(), lr=0.1)
    head_optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for x in loader:
        head(backbone(x)).mean().backward()
        optimizer.step()
        head_optimizer.step()


def not_prepared(loader, width):
    accelerator = Accelerator()
    generator, discriminator = Generator(width), Discriminator(width)
    g_optim = torch.optim.Adam(generator.parameters())
    d_optim = torch.optim.Adam(discriminator.parameters())
    generator, g_optim, d_optim, loader = accelerator.prepare(generator, g_optim, d_optim, loader)
    discriminator.to(accelerator.device)
    for x in loader:
        with accelerator.accumulate(generator, discriminator):
            fake = generator(x)
            accelerator.backward(discriminator(fake.detach()).mean())  # expect: TRL009
            d_optim.step()
            accelerator.backward(-discriminator(fake).mean())
            g_optim.step()


def main(loader, wrap_all, local_rank):
    dist.init_process_group("nccl")
    torch.cuda.set_device(local_rank)
    beside(loader, 8)
    with_a_penalty(loader, 8)
    in_a_wrapper(loader, 8)
    kept_in_a_list(loader, 8, wrap_all)
    reduced_by_hand(loader, 8)
    without_a_step(loader, 8)
    part_of_a_rank(loader, 8)
