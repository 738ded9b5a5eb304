"""A runner of OpenMMLab makes metrics and hooks on each process; what all have collected one of them computes."""

import os

from mmengine.dist import master_only
from mmengine.evaluator import BaseMetric
from mmengine.hooks import Hook


class Table(BaseMetric):
    def __init__(self, folder: str, model_name: str, **kwargs):
        super().__init__(**kwargs)
        self.path = self.create(folder, model_name)

    def create(self, folder, model_name):
        path = os.path.join(folder, "table_" + model_name + ".csv")
        with open(path, "w") as file:  # expect: TRL008
            file.write("truth,answer\n")
        return path

    def process(self, data_batch, data_samples):
        self.results.extend(data_samples)

    def compute_metrics(self, results):
        with open(self.path, "w") as file:
            file.write(str(results))
        return {}


class Keeps(Hook):
    def __init__(self, folder: str):
        self.folder = folder

    def after_train_epoch(self, runner):
        with open(os.path.join(self.folder, "epoch.txt"), "w") as file:  # expect: TRL008
            file.write(str(runner.epoch))

    @master_only
    def after_run(self, runner):
        with open(os.path.join(self.folder, "end.txt"), "w") as file:
            file.write(str(runner.epoch))


class KeepsOnFirst(Hook):
    def __init__(self, folder: str):
        self.folder = folder

    def after_train_epoch(self, runner):
        if runner.rank == 0:
            with open(os.path.join(self.folder, "epoch.txt"), "w") as file:
                file.write(str(runner.epoch))
