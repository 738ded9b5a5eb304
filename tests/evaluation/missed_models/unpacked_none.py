# None cannot be unpacked: the ranks to which a function returns None fail where its result is taken apart.
import torch.distributed as dist


def scores_of_all(mine):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, mine)
    if dist.get_rank() != 0:
        return None
    return sum(parts), len(parts)


def shared(mine):
    parts = [None] * dist.get_world_size()
    dist.all_gather_object(parts, mine)
    if dist.get_rank() != 0:
        return None, None
    return sum(parts), len(parts)


def into_names(mine):
    total, count = scores_of_all(mine)  # expect: TRL017
    if dist.get_rank() == 0:
        print(total / count)


def into_names_on_one_rank(mine):
    scores = scores_of_all(mine)
    if dist.get_rank() == 0:
        total, count = scores
        print(total / count)


def into_names_where_there(mine):
    total, count = scores_of_all(mine) or (0, 1)
    if dist.get_rank() == 0:
        print(total / count)


def two_of_none(mine):
    total, count = shared(mine)
    if dist.get_rank() == 0:
        print(total / count)


def into_arguments(mine, show):
    dist.barrier()
    scores = scores_of_all(mine)
    show(*scores)  # expect: TRL017


def into_arguments_if_there(mine, show):
    dist.barrier()
    scores = scores_of_all(mine)
    if scores is not None:
        show(*scores)


def where_it_fails(mine):
    try:
        total, count = scores_of_all(mine)
    except TypeError:
        return
    print(total / count)
