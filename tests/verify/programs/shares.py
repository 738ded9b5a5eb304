"""Two epochs over 22 rows: distributed by accelerate, all of them on every rank, or in another order on each rank."""

import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

how = sys.argv[1]
accelerator = Accelerator()
rows = torch.arange(88.0).reshape(22, 4)
if how == "own order":
    rows = rows[torch.randperm(22, generator=torch.Generator().manual_seed(accelerator.process_index))]
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
loader = DataLoader(TensorDataset(rows), batch_size=2, shuffle=how == "shared out")
model, optimizer = accelerator.prepare(model, optimizer)
if how != "all of them":
    loader = accelerator.prepare(loader)
for _ in range(2):
    for (batch,) in loader:
        accelerator.backward(model(batch).mean())
        optimizer.step()
