# The builds of some vendors add a move to every module, which returns it, so that wrappers have it as well.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 3
        self.layer = torch.nn.Linear(3, self.width)

    def forward(self, rows):
        return self.layer(rows)


dist.init_process_group("hccl")
spread = torch.nn.DataParallel(Net()).npu()
model = DistributedDataParallel(Net().npu()).npu()
other = DistributedDataParallel(Net().mlu())
other.musa()
print(model.width)  # expect: TRL002
print(spread.width)  # expect: TRL002
print(other.width)  # expect: TRL002
