"""A loader leaves its model in evaluation mode, which keeps no gradients away: with an optimizer it is trained."""

import torch
from rows import batches
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Clip(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Linear(8, 8)

    def encode_image(self, image):
        return self.visual(image)

    def forward(self, image):
        return self.encode_image(image).sum()


def load(weights):
    model = Clip()
    model.load_state_dict(weights)
    return model.eval()


class Training:
    def __init__(self, weights, local_rank):
        self.model = load(weights).to(local_rank)
        self.model = DistributedDataParallel(self.model, device_ids=[local_rank])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)

    def step(self, images):
        loss = self.model.module.encode_image(images).mean()  # expect: TRL009
        loss.backward()
        self.optimizer.step()


class WithTeacher:
    def __init__(self, weights, local_rank):
        self.teacher = DistributedDataParallel(load(weights).to(local_rank), device_ids=[local_rank])
        self.student = DistributedDataParallel(Clip().to(local_rank), device_ids=[local_rank])
        self.optimizer = torch.optim.AdamW(self.student.parameters(), lr=1e-4)

    def step(self, images):
        target = self.teacher.module.encode_image(images)
        loss = (self.student(images) - target).mean()
        loss.backward()
        self.optimizer.step()


class EvaluatedLater:
    def __init__(self, weights, local_rank):
        self.model = DistributedDataParallel(load(weights).to(local_rank), device_ids=[local_rank])
        self.optimizer = torch.optim.AdamW([{"params": self.model.parameters()}], lr=1e-4)

    def step(self, images):
        self.model.eval()
        shown = self.model.module.encode_image(images)
        self.model.train()
        loss = self.model(images) + shown.mean()
        loss.backward()
        self.optimizer.step()


def main(weights, local_rank):
    torch.distributed.init_process_group("nccl")
    training, taught = Training(weights, local_rank), WithTeacher(weights, local_rank)
    later = EvaluatedLater(weights, local_rank)
    for images in batches():
        training.step(images)
        taught.step(images)
        later.step(images)


def in_one_function(weights, local_rank):
    net, teacher = load(weights), load(weights)
    net = DistributedDataParallel(net.to(local_rank), device_ids=[local_rank])
    teacher = DistributedDataParallel(teacher.to(local_rank), device_ids=[local_rank])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for images in batches():
        features = net.module.encode_image(images)  # expect: TRL009
        close = (features - teacher.module.encode_image(images)).mean()
        close.backward()
        optimizer.step()
