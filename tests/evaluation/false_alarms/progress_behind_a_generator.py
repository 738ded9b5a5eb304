# What each rank prints while it goes through its batches shows how far it is, also if a generator hands them on.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def tracked(loader, every):
    for index, batch in enumerate(loader):
        yield batch
        if index % every == 0:
            print(index, len(loader))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits, count = 0, 0
    for images, labels in tracked(loader, 10):
        scores = model(images)
        hits += (scores.argmax(1) == labels).sum().item()
        count += len(labels)
        print(f"accuracy so far {hits / count}")
    total = torch.tensor([hits, count], device="cuda")
    dist.all_reduce(total)
    print(f"accuracy {total[0] / total[1]}")


@torch.no_grad()
def evaluate_own(model, loader):
    model.eval()
    hits, count = 0, 0
    for images, labels in tracked(loader, 10):
        scores = model(images)
        hits += (scores.argmax(1) == labels).sum().item()
        count += len(labels)
    print(f"accuracy {hits / count}")  # expect: TRL003


def main(rows, net):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    loader = DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows, shuffle=False))
    model = DistributedDataParallel(net.cuda())
    evaluate(model, loader)
    evaluate_own(model, loader)
