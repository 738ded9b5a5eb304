# Each rank goes through all rows in each epoch. Its neighbours are `rows_by_rank.py`, `rows_made_by_each.py` and
# `rows_of_one_model.py`.
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
    loader = DataLoader(Lines(path), batch_size=8, shuffle=True)  # expect: TRL021
    for _ in range(epochs):
        for batch in loader:
            model(batch).backward()
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    main(torch.load("model.pt"), "lines.txt", 12)
