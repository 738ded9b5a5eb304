# The loaders of all phases are gone through by one loop: only those of phases with a backward pass are trained on.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def train(model, optimizer, loaders):
    for _ in range(3):
        for phase in ["train", "dev"]:
            for batch in loaders[phase]:
                loss = model(batch).sum()
                if phase == "train":
                    loss.backward()
                    optimizer.step()


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(torch.nn.Linear(4, 1).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rows = DataLoader(Rows("train.pt"), batch_size=8, shuffle=True)  # expect: TRL021
    rows_of_dev = DataLoader(Rows("dev.pt"), batch_size=1)
    train(model, optimizer, {"train": rows, "dev": rows_of_dev})


main()
