# What modules of old releases of torch have, their wrapper has, too, where the code tests which release it is.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def all_rows(self):
        return list(self.layer.weight)


def buffers_of(model):
    if torch.__version__ in ("0.4.0", "0.4.1"):
        buffers = [each.data for each in model._all_buffers()]
        print(model.all_rows())  # expect: TRL002
    else:
        buffers = [each.data for each in model.buffers()]
    return buffers


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    print(buffers_of(DistributedDataParallel(Net().cuda())))


main()
