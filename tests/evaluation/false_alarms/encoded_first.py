# The output of a part of the wrapped model goes into the wrapper's own forward: DDP reduces its gradients, too.
from accelerate import Accelerator


class Tuner:
    def __init__(self, accelerator: Accelerator, net, other, optimizer, loader):
        self.accelerator = accelerator
        self.net, self.other, self.optimizer = accelerator.prepare(net, other, optimizer)
        self.loader = accelerator.prepare(loader)

    def train(self):
        for batch in self.loader:
            states = self.net.module.encoder(batch["ids"])
            states = self.net.module.narrow(states)
            loss = self.net(labels=batch["labels"], encoder_outputs=states).loss
            self.accelerator.backward(loss)
            self.optimizer.step()

    def train_apart(self):
        for batch in self.loader:
            states = self.net.module.encoder(batch["ids"])  # expect: TRL009
            loss = (states - batch["target"]).pow(2).mean()
            self.accelerator.backward(loss)
            self.optimizer.step()


def main(net, other, optimizer, loader):
    tuner = Tuner(Accelerator(), net, other, optimizer, loader)
    tuner.train()
    tuner.train_apart()
