"""Code of one class puts a wrapped model into an object of another, whose methods then read it."""

import torch
from accelerate import Accelerator
from somewhere import load
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Autoencoder:
    def __init__(self, path):
        self.path = path
        self.net = load(path)
        self.check()

    def check(self):
        return self.net.channels

    def weights(self):
        return self.net.latents

    def encode(self, images):
        return self.net.encode(images)  # expect: TRL002

    def decode(self, latents):
        return self.scaled(latents)

    def scaled(self, latents):
        return self.net(latents) * self.net.scale  # expect: TRL002

    def inner(self, images):
        if isinstance(self.net, nn.Sequential):
            return self.net.encode(images)
        return self.net.module.encode(images)


class Loop:
    def __init__(self, path):
        self.accelerator = Accelerator()
        self.coder = Autoencoder(path)
        self.before = self.coder.weights()

    def prepare(self):
        self.coder.net = self.accelerator.prepare(self.coder.net)

    def run(self, loader):
        self.prepare()
        for images in loader:
            self.step(images)

    def step(self, images):
        self.coder.decode(torch.ones(1, 8))
        self.coder.inner(images)


class Frozen:
    """`prepare` does not wrap a model without anything to train."""

    def __init__(self, path):
        self.fixed = load(path)

    def encode(self, images):
        self.fixed.requires_grad_(False)
        return self.fixed.encode(images)


class Untouched:
    def __init__(self, path):
        self.net = load(path)

    def encode(self, images):
        return self.net.encode(images)


def script(path, loader):
    coder, other = Autoencoder(path), Untouched(path)
    coder.weights()
    frozen = Frozen(path)
    frozen.fixed = Accelerator().prepare(frozen.fixed)
    frozen.encode(loader)
    coder.net = DistributedDataParallel(coder.net)
    for images in loader:
        coder.encode(images)
        other.encode(images)


def main(args):
    script(args.path, args.loader)
    Loop(args.path).run(args.loader)
    return nn.Linear(1, 1)


main(load("args"))
