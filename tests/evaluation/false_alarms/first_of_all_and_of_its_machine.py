# Where only the first of all ranks gets to a test of the rank, it divides no ranks.
import os

import torch
import torch.distributed as dist


class Saver:
    def __init__(self, net, local_rank):
        self.net = net
        self.local_rank = local_rank
        self.rank = 0
        if self.local_rank != -1:
            self.rank = dist.get_rank()

    def save(self):
        if self.rank != 0:
            dist.barrier()  # the others wait for the file
        else:
            torch.save(self.net.state_dict(), "net.pt")
            if self.local_rank == 0:  # not -1: there are several processes
                dist.barrier()

    def save_again(self):
        if self.rank not in (-1, 0):
            dist.barrier()
            return
        torch.save(self.net.state_dict(), "net.pt")
        if self.rank == 0:
            dist.barrier()

    def save_alone(self):
        if self.rank == 0:
            torch.save(self.net.state_dict(), "net.pt")
            if self.local_rank == 0:
                dist.barrier()  # expect: TRL006

    def save_on_each_machine(self):
        if self.local_rank != 0:
            dist.barrier()
        else:
            torch.save(self.net.state_dict(), f"net_{self.rank}.pt")
            if self.rank == 0:
                dist.barrier()  # expect: TRL006

    def save_without_them(self):
        if self.rank != 0:
            dist.barrier()
        else:
            torch.save(self.net.state_dict(), "net.pt")
            if self.local_rank > 0:
                dist.barrier()  # expect: TRL006


def main():
    dist.init_process_group("nccl")
    saver = Saver(torch.nn.Linear(2, 2), int(os.environ["LOCAL_RANK"]))
    saver.save()
    saver.save_again()
    saver.save_alone()
    saver.save_on_each_machine()
    saver.save_without_them()


if __name__ == "__main__":
    main()
