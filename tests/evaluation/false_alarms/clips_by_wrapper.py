# A wrapper clips itself, if it has a method for that: dandelionsllm/pandallm, trainer_base_fsdp_v4.py.
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
from torch.nn.parallel import DistributedDataParallel


class Replicated:
    def __init__(self, model, optimizer):
        self.model = DistributedDataParallel(model)
        self.optimizer = optimizer

    def clip(self, max_norm):
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), max_norm)

    def step(self, batch, max_norm):
        self.model(**batch).loss.backward()
        self.clip(max_norm)
        self.optimizer.step()


class Sharded(Replicated):
    def __init__(self, model, optimizer):
        super().__init__(model, optimizer)
        self.model = FullyShardedDataParallel(model, sharding_strategy=ShardingStrategy.FULL_SHARD)

    def clip(self, max_norm):
        return self.model.clip_grad_norm_(max_norm)


def train(model, optimizer, loader, max_norm):
    for batch in loader:
        model(**batch).loss.backward()
        if hasattr(optimizer, "clip_grad_norm"):
            optimizer.clip_grad_norm(max_norm)
        elif hasattr(model, "clip_grad_norm_"):
            model.clip_grad_norm_(max_norm)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        optimizer.step()


def main(model, loader, max_norm):
    optimizer = torch.optim.AdamW(model.parameters())
    train(FullyShardedDataParallel(model), optimizer, loader, max_norm)
    for kind in (Replicated, Sharded):
        trainer = kind(model, optimizer)
        for batch in loader:
            trainer.step(batch, max_norm)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    main(torch.load("model.pt"), [], 1.0)
