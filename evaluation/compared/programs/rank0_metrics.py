"""Metrics of rank 0: the loss that is logged is that of its own rows."""

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
torch.manual_seed(0)
rows = torch.randn(16, 4)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows, batch_size=2))
for step, batch in enumerate(loader):
    loss = model(batch).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.log({"train_loss": loss.item()}, step=step)  # cause
accelerator.end_training()
