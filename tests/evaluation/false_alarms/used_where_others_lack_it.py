# What only the main process has is used by the others: under the opposite condition, or in the other branch. One on
# another rank, or on one that has changed, may let in the process that has it.

import torch.distributed as dist
from torch.utils.tensorboard import SummaryWriter


def under_the_opposite(rank):
    if rank == 0:
        log = SummaryWriter("x")
    if rank != 0:
        log.flush()  # expect: TRL017


def under_not(is_main):
    if is_main:
        log = SummaryWriter("x")
    if not is_main:
        log.flush()  # expect: TRL017


def in_the_other_branch():
    rank = dist.get_rank()
    if rank == 0:
        log = SummaryWriter("x")
    for epoch in range(3):
        if rank == 0:
            print(epoch)
        else:
            note(log, epoch)  # expect: TRL017


def behind_the_exit_of_the_main_process():
    log = SummaryWriter("x") if dist.get_rank() == 0 else None
    if dist.get_rank() == 0:
        log.flush()
        return
    log.close()  # expect: TRL017


def with_one_of_their_own():
    rank = dist.get_rank()
    if rank == 0:
        log = SummaryWriter("x")
    else:
        print("the others")
        log = SummaryWriter("y")
    if rank != 0:
        log.flush()


def given_one_first():
    rank = dist.get_rank()
    if rank == 0:
        log = SummaryWriter("x")
    if rank != 0:
        log = SummaryWriter("y")
        log.flush()


def asked_first():
    rank = dist.get_rank()
    log = SummaryWriter("x") if rank == 0 else None
    if rank != 0 and log is not None:
        log.flush()
    if rank != 0:
        print(log)
        if log:
            log.close()


def of_another_rank():
    rank = dist.get_rank()
    if rank == 0:
        log = SummaryWriter("x")
    rank = (rank + 1) % dist.get_world_size()
    if rank != 0:
        log.flush()


def on_another_rank():
    rank = dist.get_rank()
    if rank == 0:
        log = SummaryWriter("x")
    if rank != 1:
        print("not the second")
    if rank == 0:
        print("the first")
        if rank != 1:
            log.flush()


def note(log, epoch):
    log.add_scalar("epoch", epoch, epoch)


def main():
    dist.init_process_group("nccl")
    under_the_opposite(dist.get_rank())
    under_not(dist.get_rank() == 0)
    in_the_other_branch()
    behind_the_exit_of_the_main_process()
    with_one_of_their_own()
    given_one_first()
    asked_first()
    of_another_rank()
    on_another_rank()


main()
