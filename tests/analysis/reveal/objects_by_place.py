"""Small objects are distinguished by where they are created: the values of one meter are not in another one."""

import time

from transformers import Trainer


class Meter(object):
    def __init__(self, length=0):
        self.length = length
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.count = 0
        self.avg = 0.0

    def update(self, value, number=1):
        self.sum += value * number
        self.count += number
        self.avg = self.sum / self.count

    @property
    def total(self):
        return self.sum


class Several(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        losses, reduced, unused = Meter(), Meter(length=10), Meter()
        losses.update(loss.item())
        reduced.update(self.accelerator.gather(loss).mean().item())
        reveal_rank(losses.avg)  # revealed: local(data)
        reveal_rank(losses.total)  # revealed: local(data)
        reveal_rank(losses.count)  # revealed: same
        reveal_rank(reduced.avg)  # revealed: same
        reveal_rank(reduced.total)  # revealed: same
        reveal_rank(unused.avg)  # revealed: same
        reveal_rank(mean_of(losses))  # revealed: local(data)
        reveal_rank(mean_of(reduced))  # revealed: same
        chosen = losses if self.args.debug else reduced
        reveal_rank(chosen.avg)  # revealed: local(data)
        took, scores = Meter(), Meter()
        took.update(time.time())
        scores.update(loss.item())
        chosen = losses if self.args.debug else scores
        reveal_rank(chosen.avg)  # revealed: local(data)
        chosen = took if self.args.debug else scores
        reveal_rank(chosen.avg)  # revealed: local(data, clock)
        first, second = Meter(), Meter()
        chosen = first if self.args.debug else second
        chosen.update(loss.item())
        reveal_rank(first.avg)  # revealed: local(data)
        reveal_rank(losses.avg)  # revealed: local(data)
        meters = {name: Meter() for name in ("loss", "accuracy")}
        meters["loss"].update(loss.item())
        reveal_rank(meters["accuracy"].avg)  # revealed: local(data)
        losses, reduced, unused = [Meter() for _ in range(3)]
        losses.update(loss.item())
        reduced.update(self.accelerator.gather(loss).mean().item())
        reveal_rank(losses.avg)  # revealed: local(data)
        reveal_rank(reduced.avg)  # revealed: same
        reveal_rank(unused.avg)  # revealed: same
        for meter in (losses, reduced, unused):
            meter.reset()
        first, second = (Meter(length=length) for length in range(self.args.debug))
        first.update(loss.item())
        reveal_rank(second.avg)  # revealed: same
        both = [Meter() for _ in range(2)]
        both[0].update(loss.item())
        reveal_rank(both[1].avg)  # revealed: local(data)
        one, *others = [Meter() for _ in range(3)]
        one.update(loss.item())
        reveal_rank(others[0].avg)  # revealed: local(data)
        return loss


def mean_of(meter):
    return meter.sum / meter.count
