# A loop asks at its begin for what its body has set in an earlier iteration, on some ranks: in an attribute as in a name.
from accelerate import Accelerator


class Trainer:
    def __init__(self, net, loader):
        self.accelerator = Accelerator()
        self.stops, self.steps = False, 0
        self.net, self.loader = self.accelerator.prepare(net, loader)

    def step(self, batch):
        loss = self.net(batch).mean()
        if loss.item() < 0.1:
            self.stops = True
        self.accelerator.backward(loss)

    def stops_by_method(self):
        for batch in self.loader:
            if self.stops:
                break  # expect: TRL006
            self.step(batch)

    def stops_by_number(self):
        for batch in self.loader:
            if self.steps >= 100:
                break  # expect: TRL006
            loss = self.net(batch).mean()
            if loss.item() < 0.1:
                self.steps = 100
            self.accelerator.backward(loss)


class Agrees:
    def __init__(self, net, loader):
        self.accelerator = Accelerator()
        self.stops, self.steps, self.best = False, 0, 0.0
        self.net, self.loader = self.accelerator.prepare(net, loader)

    def step(self, batch):
        loss = self.net(batch).mean()
        if self.accelerator.gather(loss).mean().item() < 0.1:
            self.stops = True
        self.accelerator.backward(loss)
        self.best = loss.item()
        self.steps += 1

    def fit(self):
        for batch in self.loader:
            if self.stops or self.steps >= 100:
                break
            print(self.best)
            self.step(batch)


def main(net, loader):
    trainer = Trainer(net, loader)
    trainer.stops_by_method()
    trainer.stops_by_number()
    Agrees(net, loader).fit()
