# The other ranks leave the program in a helper: what follows is run by the main process alone.
import os
import sys

import torch
import torch.distributed as dist


def only_chief():
    if dist.get_rank() != 0:
        sys.exit(0)


def leave():
    dist.destroy_process_group()
    sys.exit()


def leave_others(rank):
    print("done")
    if rank != 0:
        leave()


def quit_unless(flag, message="not needed"):
    if not flag:
        print(message)
        os._exit(0)


def quit_if_done(path):
    if os.path.exists(path):
        sys.exit(0)


def fail(path):
    print(f"{path} is missing")
    sys.exit(2)


class Report:
    def __init__(self, rank):
        self.rank = rank

    def on_chief(self):
        if self.rank:
            raise SystemExit

    def write(self):
        self.on_chief()
        with open("report.txt", "w") as file:
            file.write("done\n")


def in_function():
    only_chief()
    torch.save(torch.ones(1), "in_function.pt")


def in_helper_of_helper():
    leave_others(dist.get_rank())
    torch.save(torch.ones(1), "in_helper_of_helper.pt")


def unconditional():
    if dist.get_rank() != 0:
        leave()
    torch.save(torch.ones(1), "unconditional.pt")


def by_parameter():
    quit_unless(dist.get_rank() == 0)
    torch.save(torch.ones(1), "by_parameter.pt")


def in_nested():
    def go():
        if dist.get_rank() != 0:
            sys.exit(0)

    go()
    torch.save(torch.ones(1), "in_nested.pt")


def all_or_none(path):
    quit_if_done(path)
    torch.save(torch.ones(1), "all_or_none.pt")  # expect: TRL008
    quit_unless(path, "no path")
    torch.save(torch.ones(1), "with_path.pt")  # expect: TRL008
    if not path:
        fail(path)
    torch.save(torch.ones(1), "not_failed.pt")  # expect: TRL008


def in_handler(path):
    try:
        torch.load(path)
    except OSError:
        only_chief()
    torch.save(torch.ones(1), "in_handler.pt")  # expect: TRL008


def main(path, kind):
    dist.init_process_group("nccl")
    all_or_none(path)
    in_handler(path)
    if kind == "function":
        in_function()
    elif kind == "helper":
        in_helper_of_helper()
    elif kind == "unconditional":
        unconditional()
    elif kind == "parameter":
        by_parameter()
    elif kind == "nested":
        in_nested()
    else:
        Report(dist.get_rank()).write()


if __name__ == "__main__":
    main("x.pt", sys.argv[1])
