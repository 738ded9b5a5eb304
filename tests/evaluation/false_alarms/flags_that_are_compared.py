# A flag that is off by default, and that no call turns on, is compared with a constant.
import torch
import torch.distributed as dist


def read(rows, plot=False):
    if plot is True:
        torch.save(rows, "is.pt")
    if plot == True:  # noqa: E712
        torch.save(rows, "equal.pt")
    if plot is not False:
        torch.save(rows, "is_not.pt")
    if plot != False:  # noqa: E712
        torch.save(rows, "not_equal.pt")


def keep(rows, plot=False):
    if plot is True:
        torch.save(rows, "kept.pt")  # expect: TRL008


def main(rows):
    dist.init_process_group("nccl")
    read(rows)
    keep(rows, plot=True)


main("rows")
