# The output of a part of a model enters one loss with that of the wrapper's forward: DDP reduces the sum of both.
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.bridge = nn.Linear(8, 8)
        self.layer = nn.Linear(8, 8)

    def project(self, states):
        return self.bridge(states)

    def forward(self, states):
        return self.layer(states)


def step(model, batch, distance):
    part = getattr(model, "module", model)
    student = model(batch["x"])
    teacher = part.project(batch["y"])
    loss = distance(student, teacher)
    loss.backward()


def apart(model, batch, distance):
    part = getattr(model, "module", model)
    student = model(batch["x"])
    teacher = part.project(batch["y"])  # expect: TRL009
    loss = distance(teacher, batch["z"])
    loss.backward()
    return student, loss


def main(loader, distance):
    model = DistributedDataParallel(Student())
    for batch in loader:
        step(model, batch, distance)
        apart(model, batch, distance)


main(input(), print)
