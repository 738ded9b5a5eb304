"""What the training scripts of vision models take from timm."""

import torch
from accelerate import Accelerator
from timm.data import Mixup
from timm.utils import AverageMeter, NativeScaler, accuracy, reduce_tensor

accelerator = Accelerator()
model, loader = accelerator.prepare(make_model(), make_loader())
meter, reduced, fresh = AverageMeter(), AverageMeter(), AverageMeter()
mixup = Mixup(mixup_alpha=0.8) if read_setting() else None
for x, y in loader:
    if mixup is not None:
        x, y = mixup(x, y)
    reveal_rank(x)  # revealed: shard
    outputs = model(x)
    loss = torch.nn.functional.cross_entropy(outputs, y)
    meter.update(loss.item(), x.size(0))
    reveal_rank(meter.val)  # revealed: local(data)
    reduced.update(accelerator.gather(loss).mean().item(), x.size(0))
    reveal_rank(reduce_tensor(loss.detach(), accelerator.num_processes))  # revealed: same
    top1, top5 = accuracy(outputs, y, topk=(1, 5))
    reveal_rank(top1)  # revealed: shard
    reveal_rank(fresh.avg)  # revealed: unknown
reveal_rank(meter.avg)  # revealed: local(data)
reveal_rank(reduced.avg)  # revealed: same
