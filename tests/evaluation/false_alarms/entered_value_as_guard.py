# What a context manager gives to its block may be a test of the rank.
import torch
import torch.distributed as dist


class OnlyOn:
    def __init__(self, rank):
        self.rank = rank

    def __enter__(self):
        return dist.get_rank() == self.rank

    def __exit__(self, *error):
        if error[0] is None:
            dist.barrier()


class Timer:
    def __enter__(self):
        self.name = "time"
        return self

    def __exit__(self, *error):
        print(self.name)


class FirstInTurn:
    def __enter__(self):
        if dist.get_rank() != 0:
            dist.barrier()
        return dist.get_rank() == 0

    def __exit__(self, *error):
        if dist.get_rank() == 0:
            dist.barrier()


def main():
    dist.init_process_group("nccl")
    with OnlyOn(0) as is_chosen:
        if is_chosen:
            torch.save(torch.zeros(2), "zeros.pt")
    with FirstInTurn() as is_first:
        if is_first:
            torch.save(torch.zeros(2), "first.pt")
    with OnlyOn(0) as is_chosen:
        if is_chosen:
            dist.barrier()  # expect: TRL006
    with Timer() as timer:
        if timer.name:
            torch.save(torch.ones(2), "ones.pt")  # expect: TRL008


if __name__ == "__main__":
    main()
