# A copy of a dict gets entries that the dict itself has not: a loop over the keys of the dict does not reach them.
import copy
from time import time

from accelerate import Accelerator


def train(acc, latest, rows):
    means = copy.deepcopy(latest)
    start = time()
    for _ in rows:
        means["rows_per_second"] = 8 / (time() - start)
        for key in latest:
            print(acc.gather_for_metrics(means[key]).mean())


def train_on_all(acc, latest, rows):
    means = copy.deepcopy(latest)
    start = time()
    for _ in rows:
        means["rows_per_second"] = 8 / (time() - start)
        for key in means:
            print(acc.gather_for_metrics(means[key]).mean())  # expect: TRL001


def train_on_itself(acc, latest, rows):
    start = time()
    for _ in rows:
        means = latest
        means["rows_per_second"] = 8 / (time() - start)
        for key in latest:
            print(acc.gather_for_metrics(means[key]).mean())  # expect: TRL001


def main(model, loader):
    acc = Accelerator()
    model, loader = acc.prepare(model, loader)
    for batch in loader:
        train(acc, {"loss": model(batch).loss.detach()}, loader)
        train_on_all(acc, {"loss": model(batch).loss.detach()}, loader)
        train_on_itself(acc, {"loss": model(batch).loss.detach()}, loader)
