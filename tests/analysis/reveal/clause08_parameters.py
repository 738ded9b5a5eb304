"""Clause 8: the facts of a parameter come from annotations, call sites, tables, or attributes of one class only."""

import torch
from accelerate import Accelerator
from transformers import Trainer
from trl import GRPOTrainer


def bare_names(model, batch, inputs, accelerator, loss):
    # A name alone says nothing.
    reveal_rank(batch)  # revealed: unknown
    reveal_rank(inputs["x"])  # revealed: unknown
    reveal_rank(model(batch).loss)  # revealed: unknown
    reveal_rank(loss.item())  # revealed: unknown
    reveal_rank(accelerator.process)  # revealed: unknown


def annotated(accelerator: Accelerator, value: torch.Tensor, number: float, text: "str"):
    reveal_rank(accelerator.process_index)  # revealed: local(rank)
    reveal_rank(accelerator.gather(value))  # revealed: same
    reveal_rank(value)  # revealed: unknown
    reveal_rank(number)  # revealed: unknown
    reveal_rank(text)  # revealed: unknown


def optional(accelerator: Accelerator | None, other: "Accelerator"):
    reveal_rank(accelerator.is_main_process)  # revealed: local(rank)
    reveal_rank(other.process_index)  # revealed: local(rank)


def unique(something, value):
    # Only an Accelerator has these.
    reveal_rank(something.gather_for_metrics(value))  # revealed: same
    reveal_rank(something.is_main_process)  # revealed: local(rank)
    reveal_rank(something.sync_gradients)  # revealed: same


def called_in_sight(value, other=None):
    reveal_rank(value)  # revealed: local(data)
    reveal_rank(other)  # revealed: same


def loss_function(outputs, labels, num_items_in_batch=None):
    reveal_rank(outputs.logits)  # revealed: shard
    reveal_rank(labels)  # revealed: shard
    reveal_rank(num_items_in_batch)  # revealed: unknown
    return outputs.loss


def metrics_function(prediction):
    # The argument of `compute_metrics` has been gathered.
    reveal_rank(prediction.predictions)  # revealed: same
    logits, labels = prediction
    reveal_rank(logits)  # revealed: same
    return {"accuracy": (logits.argmax(-1) == labels).mean()}


def preprocess(logits, labels):
    reveal_rank(logits)  # revealed: shard
    return logits.argmax(-1)


def reward(prompts, completions, **kwargs):
    reveal_rank(completions)  # revealed: shard
    reveal_rank(kwargs["answer"])  # revealed: shard
    lengths = [len(completion) for completion in completions]
    reveal_rank(lengths[0])  # revealed: partial(count)
    return lengths


class User(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        called_in_sight(loss)
        return loss


trainer = Trainer(
    model=None,
    compute_loss_func=loss_function,
    compute_metrics=metrics_function,
    preprocess_logits_for_metrics=preprocess,
)
online = GRPOTrainer(model="gpt2", reward_funcs=[reward])
