"""The number of a process's GPU, or the CPU for a run of one process: those among `{0, "cpu"}` are the first process.

A run without ranks passes 0 or "cpu", and does not wrap the model. A list with other devices is no such guard.
"""

import argparse

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Engine:
    def __init__(self, model, gpu_id, device, several):
        self.gpu_id = gpu_id
        self.device = device
        self.several = several
        self.model = model

    def train(self, folder):
        if self.several:
            self.model = DistributedDataParallel(self.model, device_ids=[self.gpu_id])
        if self.gpu_id in {"cpu", 0}:
            self.save(f"{folder}/last.pt")
        if self.gpu_id in ("cpu", 0) and self.several:
            torch.save(self.model.state_dict(), f"{folder}/best.pt")
        if self.device in ("cpu", "cuda"):
            torch.save(self.model.state_dict(), f"{folder}/final.pt")  # expect: TRL008

    def save(self, path):
        torch.save(self.model.state_dict(), path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", default=-1, type=int)
    parser.add_argument("--multi", default=False, action="store_true")
    args = parser.parse_args()
    model = torch.nn.Linear(4, 2)
    alone = not args.multi
    if alone:
        first = 0 if torch.cuda.is_available() else "cpu"
        Engine(model, first, "cuda", args.multi).train("out")
    else:
        dist.init_process_group("nccl")
        Engine(model, args.local_rank, "cuda", args.multi).train("out")


if __name__ == "__main__":
    main()
