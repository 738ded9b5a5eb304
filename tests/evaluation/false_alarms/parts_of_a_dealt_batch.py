# The batches of a distributed sampler have as many parts on all ranks; what a rank picks from its own may be fewer.
import torch
from models import build, losses_of
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def train(rows):
    model = DistributedDataParallel(build())
    for batches in DataLoader(rows, sampler=DistributedSampler(rows), shuffle=False):
        for batch in batches:
            losses_of(model(batch[0]), batch[1]).backward()


def train_on_some(rows):
    model = DistributedDataParallel(build())
    for batches in DataLoader(rows, sampler=DistributedSampler(rows), shuffle=False):
        for batch in [each for each in batches if torch.any(each > 0)]:
            losses_of(model(batch[0]), batch[1]).backward()  # expect: TRL006
