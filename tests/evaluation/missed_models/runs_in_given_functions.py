# A Trainer starts the tracker's run on the main process only. What it is given runs on all: on the others there is none.
import wandb
from accelerate import PartialState
from datasets import load_dataset
from transformers import Trainer
from trl import GRPOTrainer


def share(rewards):
    return {"given": 1.0, "limit": 8}


def note(figures):
    wandb.log(figures)  # expect: TRL008


def plot(figures):
    wandb.log(figures)


def short(completions, **others):
    note(share(completions))
    return [float(len(text) < 80) for text in completions]


class Long:
    __name__ = "long"

    def __call__(self, completions, **others):
        wandb.config.update({"limit": 80})  # expect: TRL008
        wandb.config.limit = 80  # expect: TRL008
        if PartialState().is_main_process:
            wandb.log({"seen": 1.0})
        return [float(len(text) > 80) for text in completions]


def accuracy(prediction):
    right = (prediction.predictions.argmax(-1) == prediction.label_ids).mean()
    wandb.run.summary["right"] = right  # expect: TRL008
    return {"right": right}


def accuracy_where_there_is_a_run(prediction):
    right = (prediction.predictions.argmax(-1) == prediction.label_ids).mean()
    if wandb.run is not None:
        wandb.run.summary["right"] = right
    return {"right": right}


def plots(metrics):
    wandb.run.summary["right"] = metrics["right"]


def main():
    rows = load_dataset("rows", split="train")
    if PartialState().is_main_process:
        wandb.init(project="ours")
    GRPOTrainer(model="small", reward_funcs=[short, Long()], train_dataset=rows).train()
    Trainer(model="small", compute_metrics=accuracy, eval_dataset=rows).evaluate()
    metrics = Trainer(model="small", compute_metrics=accuracy_where_there_is_a_run, eval_dataset=rows).evaluate()
    if PartialState().is_main_process:
        plot(metrics)
        plots(metrics)


main()
