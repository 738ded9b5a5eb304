"""Metrics of torchmetrics that gather what they have counted for a `with` block, on the main process alone."""

import torch
import torch.distributed as dist
from torchmetrics.collections import MetricCollection
from torchmetrics.metric import Metric


class Dice(Metric):
    def __init__(self):
        super().__init__()
        self.add_state("values", default=[], dist_reduce_fx="cat")

    def update(self, values):
        self.values.append(values)

    def table(self, gathers=True):
        if gathers:
            with self.sync_context():
                return torch.cat(self.values).tolist()
        return torch.cat(self.values).tolist()

    def own_table(self):
        with self.sync_context(should_sync=False):
            return torch.cat(self.values).tolist()


class Metrics(MetricCollection):
    def tables(self, gathers=True):
        rows = []
        metric: Dice
        for name, metric in self.items():
            rows.append((name, metric.table(gathers=gathers)))
        return rows


def show(metrics, metric):
    if dist.get_rank() != 0:
        return  # expect: TRL006
    print(metrics.tables())


def show_of_one(metrics, metric):
    if dist.get_rank() == 0:
        print(metric.table())  # expect: TRL006


def show_all(metrics, metric):
    tables, table = metrics.tables(), metric.table()
    if dist.get_rank() != 0:
        return
    print(tables, table)


def show_own(metrics, metric):
    if dist.get_rank() != 0:
        return
    print(metrics.tables(gathers=False), metric.table(gathers=False), metric.own_table())


def main(loader):
    dist.init_process_group("nccl")
    metric = Dice()
    metrics = Metrics([metric])
    for values in loader:
        metrics.update(values)
    show(metrics, metric)
    show_of_one(metrics, metric)
    show_all(metrics, metric)
    show_own(metrics, metric)


if __name__ == "__main__":
    main(open("values.txt").readlines())
