"""Computations of the main process alone, for display, train nothing."""

from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(x).mean()


def show(accelerator, net, x):
    head = accelerator.unwrap_model(net).head
    shown = head(x)
    print(shown.shape)
    return shown


def regularise(accelerator, net, x):
    head = accelerator.unwrap_model(net).head
    return head(x).abs().mean()  # expect: TRL009


def main(rows, optimizer):
    accelerator = Accelerator()
    net, optimizer, loader = accelerator.prepare(Net(), optimizer, DataLoader(rows))
    for step, x in enumerate(loader):
        loss = net(x) + regularise(accelerator, net, x)
        accelerator.backward(loss)
        optimizer.step()
        if step % 100 == 0 and accelerator.is_main_process:
            show(accelerator, net, x)


if __name__ == "__main__":
    main([], None)
