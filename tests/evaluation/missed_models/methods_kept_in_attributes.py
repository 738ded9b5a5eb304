"""A trainer keeps the method by which it trains in an attribute: what it runs comes after the model is wrapped."""

import torch.distributed as dist
from somewhere import rows
from torch.nn.parallel import DistributedDataParallel


class ByEither:
    def __init__(self, settings, model):
        self.settings = settings
        self.rank = None
        self.model = model
        self._train = None

    def setup(self):
        self._train = self._by_step if self.settings.steps is not None else self._by_epoch

    def run(self, rank):
        self.rank = rank
        dist.init_process_group("nccl", rank=rank)
        self.model = DistributedDataParallel(self.model.to(rank), device_ids=[rank])
        self.setup()
        self._train()

    def is_main(self):
        return self.rank == 0

    def _by_step(self):
        for batch in rows():
            self.model(batch).mean().backward()
            if self.is_main():
                self.validate(batch)  # expect: TRL006

    def _by_epoch(self):
        for batch in rows():
            self.validate(batch)

    def validate(self, batch):
        print(self.model(batch))


class Before:
    def __init__(self, model):
        self.rank = None
        self.model = model
        self._look = self._shown

    def run(self, rank):
        self.rank = rank
        dist.init_process_group("nccl", rank=rank)
        self._look()
        self.model = DistributedDataParallel(self.model.to(rank), device_ids=[rank])
        for batch in rows():
            self.model(batch).mean().backward()

    def _shown(self):
        if self.rank == 0:
            print(self.model(next(rows())))


class Another:
    def __init__(self, model):
        self.rank = None
        self.model = model
        self._look = self._counted

    def run(self, rank):
        self.rank = rank
        dist.init_process_group("nccl", rank=rank)
        self.model = DistributedDataParallel(self.model.to(rank), device_ids=[rank])
        self._look()

    def _counted(self):
        if self.rank == 0:
            print(sum(each.numel() for each in self.model.parameters()))

    def _shown(self):
        if self.rank == 0:
            print(self.model(next(rows())))
