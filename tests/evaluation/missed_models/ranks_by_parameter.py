# A parameter called `local_rank` that no code in sight passes is the rank; one that gets None is None.
from transformers import Trainer, TrainingArguments


class Tuner:
    def __init__(self, config, local_rank=None):
        self.config = config
        self.local_rank = local_rank

    def tune(self, model):
        trainer = Trainer(model=model, args=TrainingArguments(self.config.out))
        trainer.train()
        is_main = self.local_rank is None or self.local_rank == 0
        if is_main:
            trainer.evaluate()  # expect: TRL006


class Alone:
    def __init__(self, config, local_rank=None):
        self.config = config
        self.local_rank = local_rank

    def tune(self, model):
        trainer = Trainer(model=model, args=TrainingArguments(self.config.out))
        trainer.train()
        if self.local_rank is None or self.local_rank == 0:
            trainer.evaluate()


def alone(config, model):
    Alone(config, None).tune(model)
