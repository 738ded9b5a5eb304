"""A number in a gather: `.item()` stands inside instead of outside."""

import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(3):
    loss = model(torch.randn(2, 4)).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    mean = sum(accelerator.gather(loss.item())) / accelerator.num_processes  # cause: 0 1
    accelerator.print("loss", mean)
