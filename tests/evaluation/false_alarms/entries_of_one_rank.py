# A list or dict with an entry that is None on all ranks but one: until they share it, the others can not use it.
import os

import accelerate.utils
import torch.distributed as dist
from comm import send_to_all
from torch.utils.tensorboard import SummaryWriter


def read():
    with open("name.txt") as file:
        return file.read()


def share(items):
    dist.broadcast_object_list(items, src=0)


def share_if_several(items):
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        dist.broadcast_object_list(items, src=0)


def unshared(rank):
    box = [read() if rank == 0 else None]
    print(box[0].strip())  # expect: TRL017


def by_name(rank):
    tools = {"log": SummaryWriter("runs") if rank == 0 else None, "step": 1}
    tools["log"].add_scalar("step", tools["step"])  # expect: TRL017


def by_variable(rank):
    text = read() if rank == 0 else None
    box = [rank, text]
    text = box[1]
    print(text.strip())  # expect: TRL017


def shared(rank, world_size, distributed, key):
    box = [read() if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    dist.broadcast_object_list(object_list=box, src=0)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    accelerate.utils.broadcast_object_list(box)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    if world_size > 1:
        dist.broadcast_object_list(box, src=0)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    if dist.is_initialized():
        dist.broadcast_object_list(box, src=0)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    if distributed:
        dist.broadcast_object_list(box, src=0)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    share(box)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    share_if_several(box)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    send_to_all(box)
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    box = send_to_all(box)
    print(box[0].strip())
    mine = [None]
    dist.scatter_object_list(mine, [read()] * world_size if rank == 0 else None, src=0)
    print(mine[0].strip())
    tools = {"log": SummaryWriter("runs") if rank == 0 else None, "step": 1}
    tools[key] = SummaryWriter("others")
    print(tools["step"] + 1)


def tested(rank):
    box = [read() if rank == 0 else None]
    if box[0] is not None:
        print(box[0].strip())
    if box[0]:
        print(box[0].strip())
    if rank == 0:
        print(box[0].strip())
    print(box[0].strip() if box[0] else "")
    print(box[0] and box[0].strip())
    box[0] = box[0] or "none"
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    if box[0] is None:
        box[0] = "none"
    print(box[0].strip())
    box = [read() if rank == 0 else None]
    if box[0] is None:
        return
    print(box[0].strip())


def ensured(rank):
    box = [read() if rank == 0 else None]
    assert box[0] is not None
    print(box[0].strip())


STATE = {"log": SummaryWriter("runs") if int(os.environ["RANK"]) == 0 else None}


def open_log():
    STATE["log"] = STATE["log"] or SummaryWriter("others")


def main():
    dist.init_process_group("nccl")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    unshared(rank)
    by_name(rank)
    by_variable(rank)
    shared(rank, world_size, "RANK" in os.environ, os.environ["KEY"])
    tested(rank)
    ensured(rank)
    open_log()
    STATE["log"].flush()


if __name__ == "__main__":
    main()
