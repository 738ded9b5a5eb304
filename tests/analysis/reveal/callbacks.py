"""The arguments of callbacks: three by position, the rest by keyword."""

import time

import torch
from transformers import TrainerCallback


class Callback(TrainerCallback):
    def __init__(self, every):
        self.every = every
        self.seen = 0
        self.started = 0.0

    def on_train_begin(self, args, state, control, **kwargs):
        self.started = time.time()
        reveal_rank(args.learning_rate)  # revealed: same
        reveal_rank(args.process_index)  # revealed: local(rank)
        reveal_rank(state.max_steps)  # revealed: same
        reveal_rank(control.should_log)  # revealed: same

    def on_step_end(self, args, state, control, model=None, optimizer=None, **kwargs):
        reveal_rank(state.global_step)  # revealed: same
        reveal_rank(state.is_world_process_zero)  # revealed: local(rank)
        reveal_rank(optimizer.param_groups[0]["lr"])  # revealed: same
        reveal_rank(kwargs["lr_scheduler"].get_last_lr()[0])  # revealed: same
        reveal_rank(model.config.hidden_size)  # revealed: same
        for batch in kwargs["train_dataloader"]:
            reveal_rank(batch["x"])  # revealed: shard
            reveal_rank(model(**batch).loss)  # revealed: local(data)
        self.seen += 1
        reveal_rank(time.time() - self.started)  # revealed: local(clock)

    def on_log(self, args, state, control, logs=None, **kwargs):
        reveal_rank(logs["loss"])  # revealed: same
        logs["mine"] = 1.0
        reveal_rank(logs.get("loss"))  # revealed: same

    def on_evaluate(self, args, state, control, metrics=None, eval_dataloader=None, **kwargs):
        reveal_rank(metrics["eval_loss"])  # revealed: same
        total = 0.0
        for batch in eval_dataloader:
            total += kwargs["model"](**batch).loss.item()
        reveal_rank(total)  # revealed: local(data)
        reveal_rank(total / len(eval_dataloader))  # revealed: local(data)

    def on_train_end(self, args, state, control, **kwargs):
        reveal_rank(self.seen)  # revealed: same
        reveal_rank(self.every)  # revealed: same


class WithAccelerator(TrainerCallback):
    def __init__(self, accelerator, reducer):
        self.accelerator = accelerator
        self.reducer = reducer

    def on_step_end(self, args, state, control, **kwargs):
        elapsed = torch.tensor(time.time(), device=self.accelerator.device)
        reveal_rank(elapsed)  # revealed: local(clock)
        reveal_rank(self.accelerator.reduce(elapsed))  # revealed: same
        reveal_rank(self.accelerator.is_main_process)  # revealed: local(rank)
        reveal_rank(self.reducer.reduce(elapsed))  # revealed: unknown
