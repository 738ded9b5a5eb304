# Two objects of a class of counters with many properties: what one counts is not what the other does.
import torch
import torch.distributed as dist
from somewhere import load
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class Confusion:
    def __init__(self, classes):
        self.value, self.classes = 0, classes

    def update(self, predicted, labels):
        pairs = torch.bincount(labels * self.classes + predicted, minlength=self.classes**2)
        self.value += pairs.view(self.classes, self.classes)

    def reset(self):
        self.value = 0

    def score(self):
        return (self.right / self.count).mean().item()

    @property
    def right(self):
        return self.value.diag()

    @property
    def count(self):
        return self.value.sum(dim=1)

    @property
    def predicted(self):
        return self.value.sum(dim=0)

    @property
    def missed(self):
        return self.count - self.right

    @property
    def wrong(self):
        return self.predicted - self.right

    @property
    def total(self):
        return self.value.sum()

    @property
    def union(self):
        return self.count + self.predicted - self.right

    @property
    def accuracy(self):
        return self.right.sum() / self.total

    @property
    def frequency(self):
        return self.count / self.total

    @property
    def recall(self):
        return self.right / self.count

    @property
    def precision(self):
        return self.right / self.predicted


def counted(model, loader):
    confusion = Confusion(3)
    for images, labels in loader:
        confusion.update(model(images).argmax(dim=1), labels)
    return confusion.score()


@torch.no_grad()
def gathered(model, loader):
    confusion = Confusion(3)
    logits = torch.cat([model(images) for images, _ in loader])
    dist.all_reduce(logits)
    confusion.update(logits.argmax(dim=1), loader.dataset.labels)
    return confusion.score()


def main(train_data, test_data):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 3))
    loader = DataLoader(train_data, sampler=DistributedSampler(train_data))
    test_loader = DataLoader(test_data, sampler=DistributedSampler(test_data))
    writer = SummaryWriter("runs") if dist.get_rank() == 0 else None
    for epoch in range(3):
        loader.sampler.set_epoch(epoch)
        in_training = counted(model, loader)
        in_test = gathered(model, test_loader)
        if writer is not None:
            writer.add_scalar("train/score", in_training, epoch)  # expect: TRL003
            writer.add_scalar("test/score", in_test, epoch)


main(*load())
