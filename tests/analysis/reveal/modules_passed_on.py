"""A module that is passed to a function is not None."""

import torch
import torch.distributed as dist

dist.init_process_group("nccl")


def reduced(values, group):
    if group == None:  # noqa: E711
        return values
    group.all_reduce(values)
    return values


def reduced_if_given(values, group=None):
    if group is not None:
        group.all_reduce(values)
    return values


own = torch.randn(3)
reveal_rank(reduced(own, dist))  # revealed: same
reveal_rank(reduced_if_given(torch.randn(3), dist))  # revealed: same
reveal_rank(reduced_if_given(torch.randn(3)))  # revealed: local(rng)
