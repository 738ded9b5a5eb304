"""A right program, as a control: DDP, and a loss that is gathered before it is logged."""

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
    mean = accelerator.gather(loss.detach()).mean()
    accelerator.log({"train_loss": mean.item()}, step=step)
accelerator.end_training()
