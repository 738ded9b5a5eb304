# A helper that catches what goes wrong reaches its synchronisation point as a rule: so does a rank that calls it.
import os

import torch.distributed as dist


def keep(state):
    try:
        print(os.listdir("out"))
    except Exception as error:
        print(error)
    else:
        try:
            state.keep("out/last.ckpt")
            dist.barrier()
        except Exception as error:
            print(error)


def wait():
    try:
        dist.barrier()
    except RuntimeError as error:
        print(error)


def wait_if_first():
    """The rank that makes the folder waits; whether others do is not said."""
    try:
        os.mkdir("lock")
        dist.barrier()
    except FileExistsError:
        pass


def wait_if(is_wanted):
    if is_wanted:
        dist.barrier()


def main(is_wanted):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        wait()  # expect: TRL006
    if dist.get_rank() == 0:
        keep(is_wanted)  # expect: TRL006
    if dist.get_rank() == 0:
        print("first")
        wait()
    else:
        wait()
    if dist.get_rank() == 0:
        wait_if_first()
    if dist.get_rank() == 0:
        wait_if(is_wanted.now())
    wait()


if __name__ == "__main__":
    main(read())
