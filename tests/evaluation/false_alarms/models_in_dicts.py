# Code for one model and for a dict of models: what it does with a dict, no wrapper is asked for.
from accelerate import Accelerator


class Trainer:
    def __init__(self, build):
        self.accelerator = Accelerator()
        self.model = self.accelerator.prepare(build())
        self.load()

    def load(self):
        if isinstance(self.model, dict):
            names = self.model.keys()
            print([self.model[name] for name in names])
        else:
            print(self.model.names())  # expect: TRL002

    def step(self, batch):
        return self.model(**batch)
