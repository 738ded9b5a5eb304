# Methods of a model's class that save it, called on the module inside the wrapper by all ranks.
import os

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.head = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.layers(x))

    def export(self, folder):
        torch.save(self.state_dict(), os.path.join(folder, "model.pt"))  # expect: TRL008

    def keep_head(self, path):
        self.write(path)

    def write(self, path):
        torch.save(self.head.state_dict(), path)  # expect: TRL008


class Teacher(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Linear(4, 4)

    def forward(self, x):
        return self.layers(x)

    def export(self, folder):
        torch.save(self.state_dict(), os.path.join(folder, "teacher.pt"))

    def export_once(self, folder):
        if dist.get_rank() == 0:
            torch.save(self.state_dict(), os.path.join(folder, "teacher.pt"))

    def export_each(self, path):
        torch.save(self.state_dict(), path)


def distil(loader):
    accelerator = Accelerator()
    student, teacher, loader = accelerator.prepare(Student(), Teacher(), loader)
    for batch in loader:
        accelerator.backward((student(batch) - teacher(batch)).pow(2).mean())
    accelerator.unwrap_model(student).export("best")
    if accelerator.is_main_process:
        accelerator.unwrap_model(teacher).export("best")
    accelerator.unwrap_model(teacher).export_once("best")


def train(rows):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    student = DistributedDataParallel(Student().to(local_rank), device_ids=[local_rank])
    for row in rows[dist.get_rank() :: dist.get_world_size()]:
        student(row).mean().backward()
    student.module.keep_head("head.pt")
    teacher = Teacher().to(local_rank)
    teacher.export_each(f"teacher{dist.get_rank()}.pt")


if __name__ == "__main__":
    distil([])
    train([])
