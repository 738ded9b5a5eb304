# A decorator of the project with the name of a library's: its code says what the other ranks get. They get None, or
# what the main process has sent to them.

import functools

import torch.distributed as dist


def master_only(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        if dist.get_rank() == 0:
            return function(*args, **kwargs)
        return None

    return inner


def main_process_only(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        found = [function(*args, **kwargs) if dist.get_rank() == 0 else None]
        dist.broadcast_object_list(found, src=0)
        return found[0]

    return inner


@master_only
def looked_up(path):
    return {"path": path}


@main_process_only
def sent_to_all(path):
    return {"path": path}


@master_only
def written(path):
    path.touch()


def main(path):
    dist.init_process_group("nccl")
    row = looked_up(path)
    print(row["path"])  # expect: TRL017
    row = sent_to_all(path)
    print(row["path"])
    row = looked_up(path)
    if row is not None:
        print(row["path"])
    written(path)


main("rows.json")
