# A table that is made anew where it is too short: its rows are the same on all ranks, whoever needs more of them.
import numpy as np
import wandb
from accelerate import Accelerator


def discounts(count):
    return 1 / np.log2(np.arange(2, count + 2))


class Ranking:
    def __init__(self, accelerator):
        self.accelerator = accelerator
        self.weights = discounts(8)
        self.largest = discounts(8)

    def weights_of(self, count):
        if not hasattr(self, "weights") or len(self.weights) < count:
            self.weights = discounts(count)
        return self.weights[:count]

    def own_gain(self, model, loader):
        """Gathered, but by the weights of as many rows as this rank has."""
        gains = []
        for batch in loader:
            found = model(batch["x"]).cpu().numpy()
            found = found[found > 0]
            weights = self.weights_of(len(found))
            if self.largest.sum() < found.sum():
                self.largest = discounts(2)
            gains.append(self.accelerator.gather(batch["x"].new_tensor((weights * found).sum())).mean().item())
        return sum(gains) / len(gains)

    def gain(self, model, loader):
        scores = []
        for batch in loader:
            scores.append(self.accelerator.gather_for_metrics(model(batch["x"])).cpu().numpy())
        found = np.concatenate(scores)
        return (self.weights_of(len(found)) * found).sum()

    def gain_by_largest(self, model, loader):
        scores = []
        for batch in loader:
            scores.append(self.accelerator.gather_for_metrics(model(batch["x"])).cpu().numpy())
        return (self.largest * np.concatenate(scores)).sum()


def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    ranking = Ranking(accelerator)
    first = ranking.own_gain(model, loader)
    second = ranking.gain(model, loader)
    third = ranking.gain_by_largest(model, loader)
    if accelerator.is_main_process:
        wandb.log({"first": first})
        wandb.log({"second": second})
        wandb.log({"third": third})  # expect: TRL003
