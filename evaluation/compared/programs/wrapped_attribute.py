"""An attribute of the wrapped model: on several processes DDP stands around it."""

import torch
from accelerate import Accelerator


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.labels = 3
        self.head = torch.nn.Linear(4, self.labels)

    def forward(self, rows):
        return self.head(rows)


accelerator = Accelerator()
model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model, optimizer = accelerator.prepare(model, optimizer)
for _ in range(2):
    logits = model(torch.randn(2, 4))
    target = torch.randint(model.labels, (2,))  # cause: 0 1
    accelerator.backward(torch.nn.functional.cross_entropy(logits, target))
    optimizer.step()
    optimizer.zero_grad()
