"""Lists of devices that are empty by default: where no call gives them, the branch that wraps the model is dead."""

import torch
from torch import nn


class Painter(nn.Module):
    def __init__(self):
        super().__init__()
        self.out_size = 128
        self.layer = nn.Linear(3, 3)

    def forward(self, rows):
        return self.layer(rows)


def on_devices(net, gpu_ids=[]):  # noqa: B006
    if len(gpu_ids) > 0:
        net.to(gpu_ids[0])
        net = nn.DataParallel(net, gpu_ids)
    return net


def made(kind, gpu_ids=[]):  # noqa: B006
    net = None
    if kind == "small":
        net = Painter()
    return on_devices(net, gpu_ids)


def on_named_devices(net, gpu_ids=[]):  # noqa: B006
    if gpu_ids:
        net = nn.DataParallel(net, gpu_ids)
    return net


def on_added_devices(net, gpu_ids=[]):  # noqa: B006
    gpu_ids.append(0)
    if gpu_ids:
        net = nn.DataParallel(net, gpu_ids)
    return net


def on_all_devices(net, gpu_ids=[]):  # noqa: B006
    for index in range(torch.cuda.device_count()):
        gpu_ids.append(index)
    if len(gpu_ids) > 0:
        net = nn.DataParallel(net, gpu_ids)
    return net


def on_remembered_devices(net, gpu_ids=[]):  # noqa: B006
    if gpu_ids:
        net = nn.DataParallel(net, gpu_ids)  # from the second call on
    gpu_ids.append(0)
    return net


class Wrapper:
    def __init__(self, net, gpu_ids=[]):  # noqa: B006
        self.gpu_ids = gpu_ids
        self.find()
        self.net = net
        if len(self.gpu_ids) > 0:
            self.net = nn.DataParallel(net, self.gpu_ids)

    def find(self):
        self.gpu_ids.extend(range(torch.cuda.device_count()))


def main(kind, batches):
    left_out = made(kind)
    given = made(kind, gpu_ids=[0, 1])
    options = made(kind, **vars(kind))
    named = on_named_devices(Painter())
    added = on_added_devices(Painter())
    several = on_all_devices(Painter())
    kept = Wrapper(Painter())
    remembered = on_remembered_devices(Painter())
    for rows in batches:
        (left_out(rows) + given(rows) + options(rows) + named(rows)).mean().backward()
        (added(rows) + several(rows) + kept.net(rows) + remembered(rows)).mean().backward()
        print(left_out.out_size, named.out_size)  # wrapped by no call
        print(given.out_size)  # expect: TRL002
        print(options.out_size)  # expect: TRL002
        print(added.out_size)  # expect: TRL002
        print(several.out_size)  # expect: TRL002
        print(kept.net.out_size)  # expect: TRL002
        print(remembered.out_size)  # expect: TRL002


main("small", torch.zeros(2, 4, 3))
