# The first rank finds out whether to stop, and the others keep the flag that they began with.
import torch
import torch.distributed as dist
from lib import Checks, check, restarts

dist.init_process_group("nccl")
rank = dist.get_rank()


def found_out_before():
    stop = False
    if rank == 0:
        stop = check()
    if stop:
        dist.barrier()  # expect: TRL006


def compared_before(limit):
    go = True
    if rank == 0:
        go = check() < limit
    if not go:
        return  # expect: TRL006
    dist.barrier()


def in_every_epoch(epochs):
    stop = False
    for epoch in range(epochs):
        if rank == 0 and epoch % 2 == 0:
            stop = check() > 3
        if stop:
            break  # expect: TRL006
        dist.barrier()


def in_one_line():
    stop = check() if rank == 0 else False
    if stop:
        dist.barrier()  # expect: TRL006


class Stopper:
    def __init__(self):
        self.stop = False

    def run(self):
        for _ in range(10):
            if rank == 0:
                self.stop = check() > 3
            if self.stop:
                break  # expect: TRL006
            dist.barrier()


def asked():
    if rank != 0:
        return False
    return check()


def returned():
    if asked():
        return  # expect: TRL006
    dist.barrier()


# --- the ranks agree ----------------------------------------------------------------------------------------


def agreed(flag):
    box = [flag]
    dist.broadcast_object_list(box, src=0)
    return box[0]


def agreed_before():
    stop = False
    if rank == 0:
        stop = check()
    stop = agreed(stop)
    if stop:
        return
    dist.barrier()


def agreed_as_a_tensor():
    stop = False
    if rank == 0:
        stop = check()
    flag = torch.tensor(int(stop), device="cuda")
    dist.broadcast(flag, 0)
    if flag.item():
        return
    dist.barrier()


def agreed_where_there_are_others():
    stop = False
    if rank == 0:
        stop = check()
    if dist.is_initialized():
        stop = agreed(stop)
    if stop:
        return
    dist.barrier()


def found_out_by_all():
    stop = False
    if rank == 0:
        print("checking")
    stop = check()
    if stop:
        return
    dist.barrier()


def found_out_by_the_others_as_well():
    checks = Checks()
    stop = checks.first() if rank == 0 else checks.others()
    if stop:
        return
    dist.barrier()


def asked_for_something_else():
    save = False
    if rank == 0:
        save = check()
    if save:
        open("found", "w").close()
    dist.barrier()


def all_know(restart):
    if restart:
        again = restarts()
    else:
        again = False
    if again:
        dist.barrier()


found_out_before(), compared_before(3), in_every_epoch(9), in_one_line(), Stopper().run(), returned()
agreed_before(), agreed_as_a_tensor(), agreed_where_there_are_others(), found_out_by_all()
found_out_by_the_others_as_well(), asked_for_something_else(), all_know(check())
