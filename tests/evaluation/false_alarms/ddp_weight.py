# DDP keeps all parameters on every rank. Only sharding leaves a rank with a part of them.
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from transformers import TrainingArguments

# Other runs of the project are sharded.
ARGUMENTS = TrainingArguments("out", fsdp="full_shard")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)

    def forward(self, rows):
        return self.first(rows)


def replicated():
    dist.init_process_group("nccl")
    model = Net().to("cuda")
    ddp = DistributedDataParallel(model)
    ddp(torch.randn(3, 3)).sum().backward()
    weight = model.first.weight
    torch.testing.assert_close(weight, weight)


def perhaps_sharded():
    accelerator = Accelerator()
    model = Net()
    prepared = accelerator.prepare(model)
    accelerator.backward(prepared(torch.randn(3, 3)).sum())
    weight = model.first.weight  # expect: TRL013
    torch.testing.assert_close(weight, weight)


replicated()
perhaps_sharded()
