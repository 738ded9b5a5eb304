# A call that leaves out an argument, or has one too many, raises before the function begins: nobody waits in it.
import argparse

import torch
import torch.distributed as dist


def save_checkpoint(step, model, optimizer, args):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{args.out}/{step}.pt")
    dist.barrier()


class Runner:
    def __init__(self, model):
        self.model = model

    def finish(self, step):
        dist.barrier()

    def run(self):
        if dist.get_rank() == 0:
            self.finish(1, self.model)
            self.finish()
        if dist.get_rank() == 0:
            self.finish(step=1)  # expect: TRL006


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="runs")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if dist.get_rank() == 0:
        save_checkpoint("latest", model, args)
        save_checkpoint("latest", model, args=args)
    Runner(model).run()
    if dist.get_rank() == 0:
        save_checkpoint("latest", model, optimizer, args)  # expect: TRL006


if __name__ == "__main__":
    main()
