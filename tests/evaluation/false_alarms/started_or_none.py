# An Accelerator that is only made where the program is to run as several processes is there where it does: what is
# done without one is done by one process. Of one that is made in any case, and kept back from something, that is not
# known, nor where processes are started in another way.
import logging

import torch
from accelerate import Accelerator


class Evaluation:
    def __init__(self, model, folder):
        self.model = model
        self.folder = folder

    def evaluate(self, rows):
        scores = self.scores_of(rows)
        self.write(scores)

    def scores_of(self, rows):
        scores = self.model(rows)
        torch.save(scores, f"{self.folder}/scores.pt")
        return scores

    def write(self, scores):
        scores.table.to_csv(f"{self.folder}/scores.csv")


class EvaluationOnAll(Evaluation):
    def __init__(self, model, folder, accelerator):
        super().__init__(model, folder)
        self.accelerator = accelerator

    def evaluate(self, rows):
        scores = self.scores_of(rows)
        if self.accelerator.is_local_main_process:
            self.write(scores)

    def scores_of(self, rows):
        return self.accelerator.gather(self.model(rows))


class Log:
    def __init__(self, path, accelerator=None):
        self.path = path
        self.accelerator = accelerator
        if self.accelerator is not None:
            if self.accelerator.is_main_process:
                self.open()
        else:
            self.open()

    def open(self):
        self.handler = logging.FileHandler(self.path, "w")


def evaluation_for(model, folder, accelerator=None):
    if accelerator is not None:
        return EvaluationOnAll(model, folder, accelerator)
    else:
        return Evaluation(model, folder)


def save_table(table):
    table.to_csv("table.csv")


def save_weights(model):
    torch.save(model.state_dict(), "weights.pt")  # expect: TRL008


def train(config, model, rows):
    accelerator = None
    if config.ddp:
        accelerator = Accelerator(mixed_precision="fp16")
        model = accelerator.prepare(model)
    Log("log.txt", accelerator)
    evaluation_for(model, "out", accelerator).evaluate(rows)


def test(config, model, table):
    accelerator = Accelerator() if config.ddp else None
    if accelerator is None:
        save_table(table)


def export(config, model):
    accelerator = Accelerator()
    helper = None
    if config.log:
        helper = accelerator
    if helper is not None:
        helper.log({"exported": 1})
    else:
        save_weights(model)


def main(config, model, rows, table):
    train(config, model, rows)
    test(config, model, table)
    export(config, model)
