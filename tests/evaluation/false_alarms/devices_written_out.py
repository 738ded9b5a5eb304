# A list of devices that the code writes out says how many there are: on one device nothing is wrapped.
# Nor is it by a call that lacks an argument, which fails.
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)

    @staticmethod
    def build(width, devices):
        model = Net().to(devices[0])
        if len(devices) > 1:
            model = nn.DataParallel(model, device_ids=devices)
        return model


def of_one(args):
    devices = [0]
    first = Net.build(4, devices)
    second = Net.build(4, [args.devices[0]])
    return first.head, second.head


def of_several():
    devices = [2, 3]
    first, second = Net.build(4, devices[:1]), Net.build(4, devices)
    return first, second.head  # expect: TRL002


def of_all():
    devices = [0]
    for each in range(1, torch.cuda.device_count()):
        devices.append(each)
    model = Net.build(4, devices)
    return model.head  # expect: TRL002


def of_old_call(devices):
    model = Net.build(devices)
    return model.head


print(of_one(args=None), of_several(), of_all(), of_old_call([0, 1]))
