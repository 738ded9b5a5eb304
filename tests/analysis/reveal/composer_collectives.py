"""Composer's own names for what torch.distributed does."""

import torch
from composer.utils import dist, get_device


def main(args, data):
    dist.initialize_dist(get_device(None))
    reveal_rank(dist.get_world_size())  # revealed: same
    reveal_rank(dist.get_global_rank())  # revealed: local(rank)
    reveal_rank(dist.get_local_rank())  # revealed: local(rank)
    reveal_rank(dist.get_node_rank())  # revealed: local(rank)
    own = torch.tensor(dist.get_global_rank())
    reveal_rank(dist.all_gather(own))  # revealed: same
    reveal_rank(dist.all_gather_object(dist.get_global_rank()))  # revealed: same
    reveal_rank(own)  # revealed: local(rank)
    dist.all_reduce(own)
    reveal_rank(own)  # revealed: same
    named = [dist.get_local_rank()]
    dist.broadcast_object_list(named, src=0)
    reveal_rank(named[0])  # revealed: same
    with dist.run_local_rank_zero_first():
        reveal_rank(args.folder)  # revealed: unknown
