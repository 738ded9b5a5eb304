# A model may be trained in evaluation mode, to keep its statistics, also by a function: that loop evaluates nothing.
import os

import torch
import torch.distributed as dist
from mine import build, rows
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
rank = int(os.environ["LOCAL_RANK"])


def train_step(model, batch, optimizer):
    loss = model(batch).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


def shown(model, batch, step):
    print(step)
    return model(batch).mean()


model = DistributedDataParallel(build().cuda(rank), device_ids=[rank])
optimizer = torch.optim.SGD(model.parameters())
loader = DataLoader(rows, sampler=DistributedSampler(rows))
model.eval()
losses = []
for batch in loader:
    losses.append(train_step(model, batch.cuda(rank), optimizer).item())
print(f"loss {sum(losses) / len(losses)}")
losses = []
for batch in loader:
    losses.append(shown(model, batch.cuda(rank), len(losses)).item())
print(f"loss {sum(losses) / len(losses)}")  # expect: TRL003
