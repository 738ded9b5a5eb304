# The ranks of a group hold the parts of one model, and need the same batch.
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Lines(Dataset):
    def __init__(self, path):
        with open(path) as lines:
            self.lines = lines.readlines()

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        return self.lines[index]


def main(model, path):
    mesh = init_device_mesh("cuda", (1, dist.get_world_size()), mesh_dim_names=("data", "parts"))
    model = parallelize_module(model.cuda(), mesh["parts"], {"head": ColwiseParallel()})
    model = DistributedDataParallel(model, process_group=mesh["data"].get_group())
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in DataLoader(Lines(path), batch_size=8):
        model(batch).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    main(torch.load("model.pt"), "lines.txt")
