# Metrics of an evaluation by something that may be a model, such as the averaged one of another library.
import os

import timm
import torch
import torch.distributed as dist
from timm.utils import ModelEmaV2
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


@torch.no_grad()
def evaluate(loader, model, criterion):
    model.eval()
    losses = []
    for images, labels in loader:
        losses.append(criterion(model(images.cuda()), labels.cuda()).item())
    return sum(losses) / len(losses)


@torch.no_grad()
def evaluate_together(loader, model, criterion):
    model.eval()
    total = torch.zeros(2).cuda()
    for images, labels in loader:
        total[0] += criterion(model(images.cuda()), labels.cuda())
        total[1] += 1
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


def main(train_set, valid_set):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    sampler = DistributedSampler(train_set)
    loader = DataLoader(train_set, sampler=sampler)
    valid_loader = DataLoader(valid_set, sampler=DistributedSampler(valid_set, shuffle=False))
    model = timm.create_model("resnet18").cuda()
    ema = ModelEmaV2(model)
    model = DDP(model)
    optimizer = torch.optim.AdamW(model.parameters())
    criterion = torch.nn.CrossEntropyLoss()
    for epoch in range(9):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            criterion(model(images.cuda()), labels.cuda()).backward()
            optimizer.step()
            ema.update(model.module)
        loss = evaluate(valid_loader, ema.module, criterion)
        loss_of_all = evaluate_together(valid_loader, ema.module, criterion)
        if dist.get_rank() == 0:
            print(f"epoch {epoch} validation {loss:.4f}")  # expect: TRL003
            print(f"epoch {epoch} validation {loss_of_all:.4f}")


if __name__ == "__main__":
    main([], [])
