# The other ranks have a list of None, which a broadcast fills in place with what the first rank has.
import torch.distributed as dist


def searched(loader):
    return {str(place): len(batch) for place, batch in enumerate(loader)}


def told(rank, loader, names):
    if rank == 0:
        sizes, order = searched(loader), sorted(names)
        results = [sizes, order]
        dist.broadcast_object_list(results, src=0)
    else:
        results = [None, None]
        dist.broadcast_object_list(results, src=0)
        sizes, order = results
    dist.barrier()
    return [sizes.get(name) for name in order]


def told_one(rank, loader, names):
    if rank == 0:
        sizes = searched(loader)
        dist.broadcast_object_list([sizes], src=0)
    else:
        given = [None]
        dist.broadcast_object_list(given, src=0)
        sizes = given[0]
    dist.barrier()
    return [sizes.get(name) for name in names]


def sent_to_a_copy(rank, loader, names):
    if rank == 0:
        sizes = searched(loader)
        dist.broadcast_object_list([sizes], src=0)
    else:
        sizes = None
        dist.broadcast_object_list([sizes], src=0)
    dist.barrier()
    return [sizes.get(name) for name in names]  # expect: TRL017


def main(loader, names):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    told(rank, loader, names)
    told_one(rank, loader, names)
    sent_to_a_copy(rank, loader, names)
