# Where several processes run, a flag is switched off that asks for forwards of the module inside the wrapper.
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(data, settings, several):
    model = nn.Linear(2, 2).cuda()
    if several:
        model = DDP(model)
        inner = model.module
    else:
        inner = model
    online, sliced, cut = bool(settings["online"]), bool(settings["sliced"]), bool(settings["cut"])
    if several and online:
        print("online is switched off")
        online = False
    if several and settings["slow"] and sliced:
        sliced = False
    if several or cut:
        cut = cut and len(data) > 1
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in data:
        optimizer.zero_grad()
        if online:
            loss = inner(x).sum()
        elif sliced:
            loss = inner(x[1:]).sum()  # expect: TRL009
        elif cut:
            loss = inner(x[:1]).sum()  # expect: TRL009
        else:
            loss = model(x).sum()
        loss.backward()
        optimizer.step()


def main(data, settings):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    train(data, settings, True)
