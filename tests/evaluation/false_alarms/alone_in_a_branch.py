# The main process turns the job's flag off for itself before it makes the loader of the test: that has all rows.
import os

import torch
import torch.distributed as dist
from elsewhere import Net, Rows, options
from mir_eval.separation import bss_eval_sources
from torch.utils.data import DataLoader, DistributedSampler


def make_loader(settings, part):
    rows = Rows(settings.folder, part)
    sampler = DistributedSampler(rows) if settings.several else None
    return DataLoader(rows, batch_size=1, sampler=sampler)


def rate(found, wanted):
    ratio, _, _, _ = bss_eval_sources(wanted, found)
    return float(ratio)


def rated(net, loader):
    total = 0
    with torch.no_grad():
        for inputs, wanted in loader:
            total += rate(net(inputs).cpu().numpy(), wanted.cpu().numpy())
    return total / len(loader)


def off_in_the_branch(settings, net):
    if settings.local_rank == 0:
        settings.several = False
        sdr = rated(net, make_loader(settings, "test"))
        print(f"Average SDR: {sdr}")


def another_flag_is_off(settings, net):
    if settings.local_rank == 0:
        settings.verbose = False
        sdr = rated(net, make_loader(settings, "test"))
        print(f"Average SDR: {sdr}")  # expect: TRL003


def on_for_the_others(settings, net):
    if settings.local_rank == 0:
        settings.several = False
        make_loader(settings, "test")
    sdr = rated(net, make_loader(settings, "dev"))
    print(f"Average SDR: {sdr}")  # expect: TRL003


def left_in_the_branch(settings):
    if settings.local_rank == 0:
        settings.several = False
        return make_loader(settings, "test")
    return None


def on_after_the_call(settings, net):
    left_in_the_branch(settings)
    sdr = rated(net, make_loader(settings, "last"))
    print(f"Average SDR: {sdr}")  # expect: TRL003


def main(settings):
    if settings.several:
        dist.init_process_group("nccl")
    net = Net().cuda()
    another_flag_is_off(settings, net)
    on_for_the_others(settings, net)
    on_after_the_call(settings, net)
    off_in_the_branch(settings, net)


if __name__ == "__main__":
    settings = options()
    settings.several = int(os.environ["WORLD_SIZE"]) > 1
    main(settings)
