# What one rank has in a list or a dict, where the others have an empty one, is done by that rank alone.
import torch
import torch.distributed as dist


class Jobs:
    def __init__(self):
        self.todo = ["a", "b"] if dist.get_rank() == 0 else []

    def run(self):
        for name in self.todo:
            torch.save(torch.ones(1), f"{name}.pt")


def shares():
    if dist.get_rank() != 0:
        return {}
    return {"a": 1.0, "b": 2.0}


def write(is_main, known):
    found = []
    if is_main:
        found = list(range(3))
    for name in found:
        torch.save(torch.ones(1), f"{name}.pt")
    for name, share in shares().items():
        torch.save(share, f"{name}.pt")
    last = ["last"] if is_main else []
    if last:
        torch.save(torch.ones(1), "last.pt")
    last.append("of all")
    for name in last:
        torch.save(torch.ones(1), f"{name}.pt")
    for _ in known:
        torch.save(torch.ones(1), "known.pt")  # expect: TRL008
    for name in [*last, "each"]:
        torch.save(torch.ones(1), f"{name}.pt")  # expect: TRL008


def reduce_some(loss, is_main):
    for name in ["loss"] if is_main else []:
        dist.all_reduce(loss[name])  # expect: TRL006


def main():
    dist.init_process_group("nccl")
    is_main = dist.get_rank() == 0
    Jobs().run()
    write(is_main, ["x", "y"])
    reduce_some({"loss": torch.ones(1).cuda()}, is_main)


main()
