# The rank that ends its process at once has met the others at their next collective, and misses none after it.
import sys

import torch.distributed as dist


class Session:
    def __init__(self, model):
        self.model = model
        self.is_saved = False

    def leave(self):
        if dist.get_rank() == 0:
            print("saving", self.model)
        dist.barrier()
        dist.destroy_process_group()
        exit(1)

    def stop(self):
        self.is_saved = True
        dist.barrier()
        sys.exit(1)


def run(model):
    session = Session(model)
    print(model)
    if dist.get_rank() == 0:
        session.leave()
    dist.barrier()
    dist.destroy_process_group()


def run_and_fail(failure):
    if dist.get_rank() == 0:
        dist.barrier()
        raise failure
    print("the first one has failed")
    dist.barrier()


def run_to_the_end(losses):
    if dist.get_rank() == 0:
        dist.barrier()  # expect: TRL006
        sys.exit(1)
    dist.all_reduce(losses)
    dist.barrier()


def end(model):
    session = Session(model)
    if dist.get_rank() == 0:
        session.stop()  # expect: TRL006
    print("nobody waits here")


def end_twice():
    if dist.get_rank() == 0:
        dist.barrier()
        dist.barrier()  # expect: TRL006
        sys.exit(1)
    dist.barrier()


def main(args, losses, failure):
    dist.init_process_group("nccl")
    {"run": run, "end": end}[args.what](args.model)
    if args.what == "fail":
        run_and_fail(failure)
    if args.what == "twice":
        end_twice()
    if args.what == "losses":
        run_to_the_end(losses)
