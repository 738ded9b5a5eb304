# What is looked up by the rank is a share of the rows, unless it is a device, or the cores beside one.
import os

import deepspeed
import torch
from torch.utils.data import DataLoader, Dataset

CPU_MAP = {0: [49, 50], 1: [57, 58]}


class Rows(Dataset):
    def __init__(self, path):
        self.rows = torch.load(path)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index], 1


def train(net, criterion, loader):
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters())
    for rows, labels in loader:
        engine.backward(criterion(engine(rows.to(engine.local_rank)), labels))
        engine.step()


def main(args):
    rank = int(os.environ["LOCAL_RANK"])
    deepspeed.init_distributed()
    os.sched_setaffinity(0, CPU_MAP[rank])
    torch.cuda.set_device(args.gpu_ids[rank])
    loader = DataLoader(Rows(args.path), batch_size=8, shuffle=True)  # expect: TRL021
    train(torch.nn.Linear(2, 2), torch.nn.CrossEntropyLoss(), loader)
