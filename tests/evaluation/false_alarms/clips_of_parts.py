# The neighbour of `clips_by_wrapper.py`: the norm is that of what each rank holds of the gradients.
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel


def train(model, optimizer, loader, max_norm):
    for batch in loader:
        model(**batch).loss.backward()
        if hasattr(optimizer, "clip_grad_norm"):
            optimizer.clip_grad_norm(max_norm)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # expect: TRL024
        optimizer.step()


def main(model, loader, max_norm):
    model = FullyShardedDataParallel(model)
    train(model, torch.optim.AdamW(model.parameters()), loader, max_norm)


if __name__ == "__main__":
    dist.init_process_group("nccl")
    main(torch.load("model.pt"), [], 1.0)
