"""A model in evaluation mode is evaluated, although gradients are on."""

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank)


def evaluate(model, loader):
    model.eval()
    hits, total = 0, 0
    for x, y in loader:
        hits += (model(x.cuda()).argmax(-1) == y.cuda()).sum().item()
        total += len(y)
    print(f"accuracy {hits / total}")  # expect: TRL003
    model.train()


def of_all(model, loader):
    model.eval()
    hits = torch.zeros(2, device="cuda")
    for x, y in loader:
        hits += torch.stack([(model(x.cuda()).argmax(-1) == y.cuda()).sum(), torch.tensor(len(y), device="cuda")])
    dist.all_reduce(hits)
    print(f"accuracy {hits[0] / hits[1]}")
    model.train()


def progress(model, loader):
    model.train()
    hits, total = 0, 0
    for x, y in loader:
        hits += (model(x.cuda()).argmax(-1) == y.cuda()).sum().item()
        total += len(y)
    print(f"accuracy {hits / total}")


def with_kept_statistics(model, loader, optimizer):
    model.eval()
    losses = []
    for x, y in loader:
        losses.append(cross_entropy(model(x.cuda()), y.cuda()))
    sum(losses).backward()
    print(f"loss {sum(each.item() for each in losses) / len(losses)}")
    optimizer.step()


def beside_the_teacher(model, teacher, loader, learner):
    teacher.eval()
    model.train()
    losses = []
    for x, y in loader:
        losses.append(cross_entropy(teacher(x.cuda()), y.cuda()).item())
        learner.learn(model, x, y)
    print(f"loss {sum(losses) / len(losses)}")


class Runner:
    def __init__(self, model, loader):
        self.model = DistributedDataParallel(model.cuda())
        self.loader = loader

    def validate(self):
        self.model.eval()
        losses = []
        for x, y in self.loader:
            losses.append(cross_entropy(self.model(x.cuda()), y.cuda()).item())
        print(f"loss {sum(losses) / len(losses)}")  # expect: TRL003


def main(rows, model, teacher, learner):
    model = DistributedDataParallel(model.cuda(), device_ids=[rank])
    teacher = DistributedDataParallel(teacher.cuda(), device_ids=[rank])
    sampler = DistributedSampler(rows)
    loader = DataLoader(rows, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters())
    for epoch in range(3):
        sampler.set_epoch(epoch)
        model.train()
        for x, y in loader:
            loss = cross_entropy(model(x.cuda()), y.cuda())
            loss.backward()
            optimizer.step()
        evaluate(model, loader)
        evaluate(model.module, loader)
        of_all(model, loader)
        progress(model, loader)
        with_kept_statistics(model, loader, optimizer)
        beside_the_teacher(model, teacher, loader, learner)
        model.eval()
        losses = []
        for x, y in loader:
            losses.append(cross_entropy(model(x.cuda()), y.cuda()).item())
        print(f"loss {sum(losses) / len(losses)}")  # expect: TRL003
        Runner(model.module, loader).validate()


if __name__ == "__main__":
    from mine import learner, model, rows, teacher

    main(rows, model, teacher, learner)
