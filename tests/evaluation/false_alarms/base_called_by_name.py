# A method of a base that is called by the name of its class runs on an heir's object: the heir's methods are called.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Loop:
    def __init__(self, model):
        self.model = model

    def fit(self, rows):
        for row in rows:
            self.model(row).backward()
        self.save("model.pt")
        self.export("model.onnx")


class Trainer(Loop):
    def fit(self, rows):
        self.model.train()
        return super().fit(rows)

    def save(self, path):
        torch.save(self.model.state_dict(), path)

    def export(self, path):
        torch.save(self.model, path)  # expect: TRL008


class ParallelTrainer(Trainer):
    def __init__(self, model):
        dist.init_process_group("nccl")
        Trainer.__init__(self, DistributedDataParallel(model))

    def fit(self, rows):
        dist.barrier()
        return Trainer.fit(self, rows)

    def save(self, path):
        if dist.get_rank() == 0:
            super().save(path)


def main(model, rows):
    ParallelTrainer(model).fit(rows)
