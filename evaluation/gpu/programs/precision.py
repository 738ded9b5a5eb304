"""A right training in a precision of GPUs (`fp32`, `tf32` or `bf16`): a transformer whose logged loss is gathered."""

import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

torch.backends.cuda.matmul.allow_tf32 = sys.argv[1] == "tf32"
accelerator = Accelerator(mixed_precision="bf16" if sys.argv[1] == "bf16" else "no")
torch.manual_seed(0)
rows = torch.randn(64, 16, 128)
layer = torch.nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
model = torch.nn.Sequential(layer, torch.nn.Linear(128, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(rows, batch_size=4))
for batch in loader:
    loss = (model(batch) - batch.mean(dim=2, keepdim=True)).square().mean()
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    accelerator.log({"train_loss": accelerator.gather(loss.detach()).mean().item()})
