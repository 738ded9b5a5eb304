# A test for the main process that returns True for other reasons, too, and asks for a rank of which only the name is
# known: it is a guard, whatever it returns first.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Training:
    def __init__(self, args):
        self.args = args["train"]
        self.dist = self.args.get("distribute", False)
        self.mode = self.args.get("mode", "DDP")
        self.local_rank = self.args.get("local_rank", 0)
        self.model = torch.nn.Linear(2, 2)
        if self.dist and self.mode == "DDP":
            self.model = DistributedDataParallel(self.model, device_ids=[self.local_rank])

    def is_main(self):
        if self.dist is False:
            return True
        if self.mode == "DP":
            return True
        if self.local_rank == 0:  # noqa: SIM103
            return True
        return False

    def is_saved(self):
        if self.dist is False:
            return True
        if self.mode == "DP":  # noqa: SIM103
            return True
        return False

    def save_best(self):
        if self.is_main() and self.args["saves"]:
            torch.save(self.model.state_dict(), "best.pth")

    def save_last(self):
        if self.is_saved() and self.args["saves"]:
            torch.save(self.model.state_dict(), "last.pth")  # expect: TRL008

    def train(self):
        dist.barrier()
        self.save_best()
        dist.barrier()
        self.save_last()
