# A test for several processes may have any name: code that reads `.module` on one branch knows the wrapper.
from torch.nn.parallel import DistributedDataParallel as DDP


class T:
    def __init__(self, model, ids):
        self.n = len(ids)
        self.model = model
        if len(ids) > 1:
            self.model = DDP(model)

    def save(self):
        model = self.model.module if self.n > 1 else self.model
        print(model.config)

    def save3(self):
        model = self.model
        if self.n > 1:
            model = model.module
        print(model.config)

    def save4(self):
        if self.n > 1:
            print(self.model.module.config)
        else:
            print(self.model.config)

    def save5(self):
        if self.n > 1:
            print(self.model.module.config)
            return
        print(self.model.config)


def show(model, n):
    m = model.module if n > 1 else model
    print(m.config)


def show3(model, n):
    if n > 1:
        model = model.module
    print(model.config)


def show4(model, n):
    print(model.module.config if n > 1 else model.config)


def show5(model, n):
    if n > 1:
        print(model.module.config)
        return
    print(model.config)


def show6(model, n):
    if n == 1:
        print(model.config)
        return
    print(model.module.config)


def main(model, ids):
    if len(ids) > 1:
        model = DDP(model)
    show(model, len(ids))
    show3(model, len(ids))
    show4(model, len(ids))
    show5(model, len(ids))
    show6(model, len(ids))
