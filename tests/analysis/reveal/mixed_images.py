"""What timm mixes of a batch is as much this rank's own as the batch, whether it is mixed or not."""

import torch
import torch.distributed as dist
from kornia.augmentation import RandomHorizontalFlip
from somewhere import Augmentation
from timm.data import Mixup as MixupOfPackage
from timm.data.mixup import Mixup
from timm.utils import accuracy
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
rows = load()
loader = DataLoader(rows, sampler=DistributedSampler(rows))
mixup_fn = None
if args.mixup > 0:
    mixup_fn = Mixup(mixup_alpha=0.8, num_classes=10)
flip, other, unknown = RandomHorizontalFlip(p=0.5), MixupOfPackage(), Augmentation()
for samples, targets in loader:
    if mixup_fn is not None:
        samples, targets = mixup_fn(samples, targets)
    reveal_rank(samples)  # revealed: shard
    reveal_rank(targets)  # revealed: shard
    mixed, labels = other(samples, targets)
    reveal_rank(labels)  # revealed: shard
    reveal_rank(flip(samples))  # revealed: shard
    reveal_rank(unknown(samples))  # revealed: unknown
    acc1, acc5 = accuracy(mixed, labels, topk=(1, 5))
    reveal_rank(acc1)  # revealed: shard
    total = torch.zeros(1)
    dist.all_reduce(acc1)
    reveal_rank(acc1)  # revealed: same
