# Each rank goes on with its own lines of a batch: nothing else shares them out, and nothing has to.
import torch
import torch.distributed as dist
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


def main(model, path, epochs):
    model = DistributedDataParallel(model.cuda())
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(Lines(path), batch_size=8 * dist.get_world_size())
    for _ in range(epochs):
        for batch in loader:
            model(batch[dist.get_rank() :: dist.get_world_size()]).backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    main(torch.load("model.pt"), "lines.txt", 12)
