# A model that `prepare` returns and `self` holds: code asks for its wrapper, or takes it off on one branch of a test.
import torch
from accelerate import Accelerator
from elsewhere import make_net


class Learner:
    def __init__(self, options):
        self.options = options
        self.accelerator = Accelerator()
        net = make_net(options)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        self.net, self.optimizer = self.accelerator.prepare(net, optimizer)

    def step(self, rows):
        self.accelerator.backward(self.net(rows).sum())
        self.optimizer.step()

    def ask(self):
        head = self.net.module.head if hasattr(self.net, "module") else self.net.head
        if hasattr(self.net, "module"):
            self.net.module.reset(head)
        else:
            self.net.reset(head)

    def ask_by_setting(self):
        head = self.net.module.head if self.options.devices > 1 else self.net.head
        if self.options.devices > 1:
            self.net.module.reset(head)
        else:
            self.net.reset(head)

    def ask_the_optimizer(self):
        return self.net.head if hasattr(self.optimizer, "param_groups") else None  # expect: TRL002

    def take_without_asking(self):
        head = self.net.module.head if self.options.devices > 1 else None
        return head, self.net.tail  # expect: TRL002


class WrappedByTorch:
    def __init__(self, options):
        self.options = options
        self.net = torch.nn.parallel.DistributedDataParallel(make_net(options))

    def ask_by_setting(self):
        return self.net.module.head if self.options.devices > 1 else self.net.head

    def take_after_asking(self):
        head = self.net.module.head if self.options.devices > 1 else self.net.head
        return head, self.net.tail  # expect: TRL002
