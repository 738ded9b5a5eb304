# A discriminator that a helper has frozen is called without its wrapper: nothing in it is trained in that step.
import contextlib
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def toggle(net, flag=True):
    for parameter in net.parameters():
        parameter.requires_grad_(flag)


def set_requires_grad(nets, requires_grad=False):
    if not isinstance(nets, list):
        nets = [nets]
    for net in nets:
        if net is not None:
            for parameter in net.parameters():
                parameter.requires_grad = requires_grad


def freeze(*nets):
    for net in nets:
        net.requires_grad_(False)


def freeze_most(net):
    for name, parameter in net.named_parameters():
        if "head" in name:
            continue
        parameter.requires_grad = False


def freeze_but_head(net):
    net.requires_grad_(False)
    net.module.head.requires_grad_(True)


def alternate(net, is_critic):
    if is_critic:
        toggle(net)
    else:
        toggle(net, False)


@contextlib.contextmanager
def frozen(net):
    net.requires_grad_(False)
    try:
        yield net
    finally:
        net.requires_grad_(True)


class Gan:
    def __init__(self, g, d):
        self.g, self.d, self.e = DDP(g), DDP(d), DDP(torch.nn.Linear(4, 1).cuda())
        self.optimizer = torch.optim.Adam(self.g.parameters())

    def set_requires_grad(self, nets, requires_grad=False):
        for net in nets:
            for parameter in net.parameters():
                parameter.requires_grad = requires_grad

    def freeze_critics(self):
        self.set_requires_grad((self.d, self.e))

    def step(self, x):
        self.set_requires_grad([self.d], False)
        self.optimizer.zero_grad()
        (-self.d.module(self.g(x)).mean()).backward()
        self.optimizer.step()
        loss = self.e.module(x).mean()  # expect: TRL009
        loss.backward()

    def train_generator(self, x):
        (-self.d.module(self.g(x)).mean()).backward()

    def train_critic(self, x):
        loss = self.d.module(x).mean()  # expect: TRL009
        loss.backward()

    def step_of_both(self, x):
        self.set_requires_grad([self.d])
        self.train_generator(x)
        self.set_requires_grad([self.d], True)
        self.train_critic(x)

    def step_with_both(self, x):
        self.freeze_critics()
        (self.d.module(self.g(x)) + self.e.module(x)).mean().backward()
        self.set_requires_grad([self.d, self.e], True)
        loss = self.d.module(x).mean()  # expect: TRL009
        loss.backward()


def main(batches):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    g, d = DDP(torch.nn.Linear(4, 4).cuda()), DDP(torch.nn.Linear(4, 1).cuda())
    inner = d.module
    gan = Gan(torch.nn.Linear(4, 4).cuda(), torch.nn.Linear(4, 1).cuda())
    for x in batches:
        gan.step(x)
        gan.step_with_both(x)
        gan.step_of_both(x)
        toggle(d, False)
        (d.module(g(x)) + inner(g(x))).mean().backward()
        toggle(d)
        d.module(x).mean().backward()  # expect: TRL009
        set_requires_grad([d, None], False)
        d.module(g(x)).mean().backward()
        set_requires_grad(d, True)
        inner(x).mean().backward()  # expect: TRL009
        freeze(d, gan.d)
        (d.module(g(x)) + gan.d.module(g(x))).mean().backward()
        g.module(x).mean().backward()  # expect: TRL009
        d.module.requires_grad_(True)
        d.module(x).mean().backward()  # expect: TRL009
        d.module.requires_grad_(False)
        d.module(g(x)).mean().backward()
        alternate(d, is_critic=True)
        d.module(x).mean().backward()  # expect: TRL009
        alternate(d, is_critic=False)
        d.module(g(x)).mean().backward()
        d.requires_grad_(True)
        with frozen(d):
            d.module(g(x)).mean().backward()
            g.module(x).mean().backward()  # expect: TRL009
        d.module(x).mean().backward()  # expect: TRL009
        freeze_most(d)
        d.module(x).mean().backward()  # expect: TRL009
        freeze_but_head(d)
        d.module(x).mean().backward()  # expect: TRL009
        for net in (d, g):
            for parameter in net.parameters():
                parameter.requires_grad = False
        (d.module(g(x)) + g.module(x)).mean().backward()


if __name__ == "__main__":
    main(torch.randn(8, 4, 4))
