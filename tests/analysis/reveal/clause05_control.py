"""Clause 5: control flow. What only one rank does, and its effect afterwards."""

import torch
import torch.distributed as dist
from transformers import PreTrainedModel, Trainer
from transformers.trainer import is_peft_model


class Control(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss

        # A branch that only raises changes nothing after it.
        checked = 1.0
        if torch.isnan(loss):
            checked = loss
            raise ValueError("loss is nan")
        reveal_rank(checked)  # revealed: same

        # Ranks that choose differently leave with different values, even if both values are the same on all ranks.
        chosen = 0.0
        if loss > 1:
            chosen = 1.0
        reveal_rank(chosen)  # revealed: local(data)
        name = "big" if loss > 1 else "small"
        reveal_rank(name)  # revealed: local(data)
        ranked = 0
        if self.accelerator.is_main_process:
            ranked = 1
        reveal_rank(ranked)  # revealed: local(rank)
        unchanged = 1.0
        if self.accelerator.is_main_process:
            print(unchanged)
        reveal_rank(unchanged)  # revealed: same
        either = "a" if self.accelerator.is_main_process else "a"
        reveal_rank(either)  # revealed: same
        restored = self.accelerator.gather(loss).mean()
        if self.accelerator.is_main_process:
            reveal_rank(restored)  # revealed: same
        reveal_rank(restored)  # revealed: same
        if restored > 1:
            restored = 1.0
        reveal_rank(restored)  # revealed: same

        reveal_rank(self.early(loss))  # revealed: local(data)
        reveal_rank(self.guarded(self.accelerator.gather(loss).mean()))  # revealed: same
        reveal_rank(self.raising(loss))  # revealed: same
        return loss

    def early(self, value):
        if self.args.flag:
            return 0.0
        return value

    def guarded(self, value):
        if self.args.flag:
            return value
        return value * 2

    def raising(self, value):
        if value > 3:
            raise ValueError
        return 1.0

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        # A rank-local number of iterations.
        kept = 1.0
        for _ in inputs["x"]:
            print(kept)
        reveal_rank(kept)  # revealed: same
        for row in inputs["x"]:
            reveal_rank(row)  # revealed: shard
        for i in range(len(inputs["x"])):
            reveal_rank(i)  # revealed: same
            reveal_rank(inputs["x"][i])  # revealed: shard
        steps = 0
        while steps < 3:
            steps += 1
        reveal_rank(steps)  # revealed: same

        # On a wrapped model these tests are always false.
        if isinstance(model, PreTrainedModel):
            reveal_rank(1.0)  # revealed: never
        if is_peft_model(model):
            reveal_rank(2.0)  # revealed: never
        else:
            reveal_rank(3.0)  # revealed: same
        if hasattr(model, "generation_config"):
            reveal_rank(4.0)  # revealed: never
        if hasattr(model, "module"):
            reveal_rank(5.0)  # revealed: same
        else:
            reveal_rank(6.0)  # revealed: never
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            reveal_rank(7.0)  # revealed: same
        else:
            reveal_rank(8.0)  # revealed: never
        if isinstance(self.model, PreTrainedModel):
            reveal_rank(9.0)  # revealed: same
        if not isinstance(model, PreTrainedModel):
            reveal_rank(10.0)  # revealed: same

        # After `is None` it is None; otherwise not.
        value = inputs["x"].mean() if self.args.flag else None
        if value is None:
            reveal_rank(value)  # revealed: same
            value = inputs["y"].mean()
        reveal_rank(value)  # revealed: local(data)

        return self.never_ends(inputs)

    def never_ends(self, inputs):
        while True:
            total = inputs["x"].sum()
            if self.args.flag:
                break
        reveal_rank(total)  # revealed: partial(sum)
        with torch.no_grad():
            inner = total.item()
        reveal_rank(inner)  # revealed: partial(sum)
        try:
            tried = 1.0
        finally:
            tried = inputs["x"].sum()
        reveal_rank(tried)  # revealed: partial(sum)
        if dist.is_initialized():
            dist.all_reduce(total)
        reveal_rank(total)  # revealed: same
        return total
        reveal_rank(total)  # revealed: never
