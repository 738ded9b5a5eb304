from accelerate import Accelerator
from ema_pytorch import EMA
from rows import make, read
from torch.utils.data import DataLoader


class Trainer:
    def __init__(self, model):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(model)
        self.ema = EMA(model, beta=0.9)
        self.ema.to("cuda")

    def sample(self, loader):
        model, loader = self.accelerator.prepare(self.ema.ema_model, loader)
        trained = self.accelerator.prepare(self.ema.online_model)
        model.eval()
        trained.eval()
        for each in [*model.parameters(), *trained.parameters()]:
            each.data.zero_()
        for batch in loader:
            model.sample(batch)
            trained.sample(batch)  # expect: TRL002


def main(model, rows):
    trainer = Trainer(model)
    trainer.sample(DataLoader(rows))


if __name__ == "__main__":
    main(make(), read())
