# A helper that makes a trainer shows that each process runs its caller, also in a loop or a `with` block.
import wandb
from transformers import Trainer, TrainingArguments


def tune(config, model):
    trainer = Trainer(model=model, args=TrainingArguments(config.out))
    trainer.train()


def folds(config, model):
    for name in config.names:
        wandb.init(project=config.project, name=name)  # expect: TRL008
        tune(config, model)
        wandb.finish()


def timed(config, model, clock):
    with clock:
        tune(config, model)
    open(f"{config.out}/done.txt", "w").write("done")  # expect: TRL008


def maybe(config, model, rows):
    wandb.init(project=config.project)  # may be a program of its own, which trains nothing
    for row in rows:
        if row.train:
            tune(config, model)
