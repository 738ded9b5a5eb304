"""Rows that helpers read on the main process only are all rows: what is shown of them is of no share."""

import csv
import os

import torch
import torch.distributed as dist

LABELS = {"no": 0, "yes": 1}


def read(path):
    rows = []
    with open(path) as file:
        for line in csv.reader(file):
            rows.append(line)
    return rows


def labels_of(rows):
    labels = []
    for row in rows:
        labels.append(LABELS[row[0]])
    return labels


def evaluate(model, rows):
    labels = torch.tensor(labels_of(rows))
    model.eval()
    total, count = 0, 0
    for label in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(labels)):
        with torch.no_grad():
            total += model(label).mean().item()
        count += 1
    return total / count


def main(model):
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    model = torch.nn.parallel.DistributedDataParallel(model)
    if rank == 0:
        print(f"loss {evaluate(model.module, read('rows.csv'))}")
    own = evaluate(model, read("rows.csv")[rank::size])
    if rank == 0:
        print(f"loss of a share {own}")  # expect: TRL003


main(torch.nn.Linear(2, 1).to(int(os.environ["LOCAL_RANK"])))
