"""Clause 3: operators and pure calls give the strongest fact of local > partial, shard > unknown > same."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from transformers import Trainer


class Operators(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        x, y = inputs["x"].float(), inputs["y"].float()
        loss = model(**inputs).loss
        unknown = something_unknown()
        total, other = x.sum(), y.sum()
        mean = x.mean()

        reveal_rank(1 + 2)  # revealed: same
        reveal_rank(loss + 1)  # revealed: local(data)
        reveal_rank(1 - loss)  # revealed: local(data)
        reveal_rank(loss + unknown)  # revealed: local(data)
        reveal_rank(unknown * loss)  # revealed: local(data)
        reveal_rank(unknown + 1)  # revealed: unknown
        reveal_rank(x + unknown)  # revealed: shard
        reveal_rank(x * 2)  # revealed: shard
        reveal_rank(x * y)  # revealed: shard
        reveal_rank(x * loss)  # revealed: local(data)
        reveal_rank(-x)  # revealed: shard
        reveal_rank(~x.bool())  # revealed: shard
        reveal_rank(x @ y)  # revealed: shard
        reveal_rank(x**2)  # revealed: shard
        reveal_rank(x > 0)  # revealed: shard

        # Partial results stay partial under operations that commute with their reduction.
        reveal_rank(total + other)  # revealed: partial(sum)
        reveal_rank(total - other)  # revealed: partial(sum)
        reveal_rank(total + mean)  # revealed: local(data)
        reveal_rank(total * 2)  # revealed: partial(sum)
        reveal_rank(2 * total)  # revealed: partial(sum)
        reveal_rank(mean / 2)  # revealed: partial(mean)
        reveal_rank(-mean)  # revealed: partial(mean)
        reveal_rank(mean * unknown)  # revealed: local(data)
        reveal_rank(2 / total)  # revealed: local(data)
        reveal_rank(total / other)  # revealed: local(data)
        reveal_rank(total * other)  # revealed: local(data)
        reveal_rank(total + 1)  # revealed: local(data)
        reveal_rank(total**2)  # revealed: local(data)
        reveal_rank(total // 2)  # revealed: local(data)
        reveal_rank(total % 2)  # revealed: local(data)
        reveal_rank(total > 0)  # revealed: local(data)
        reveal_rank(total.exp())  # revealed: local(data)
        reveal_rank(abs(total))  # revealed: local(data)
        reveal_rank(-x.max())  # revealed: local(data)
        reveal_rank(x.max() + y.max())  # revealed: local(data)
        reveal_rank(not total)  # revealed: local(data)

        # An average over this rank's samples of what is reduced is nearly the same on all ranks; of its own losses, not.
        reduced, rows = self.accelerator.reduce(mean, "mean"), x.shape[0]
        reveal_rank(reduced * rows / rows)  # revealed: unknown
        reveal_rank((reduced * rows + reduced * rows) / (rows + rows))  # revealed: unknown
        reveal_rank(reduced * rows)  # revealed: local(data)
        reveal_rank(loss * rows / rows)  # revealed: local(data)

        # Pure calls.
        reveal_rank(torch.exp(x))  # revealed: shard
        reveal_rank(torch.exp(loss))  # revealed: local(data)
        reveal_rank(torch.where(x > 0, x, y))  # revealed: shard
        reveal_rank(torch.where(x > 0, x, unknown))  # revealed: shard
        reveal_rank(F.softmax(x, dim=-1))  # revealed: shard
        reveal_rank(F.cross_entropy(x, y))  # revealed: local(data)
        reveal_rank(F.cross_entropy(x, y, reduction="none"))  # revealed: shard
        reveal_rank(torch.nn.CrossEntropyLoss()(x, y))  # revealed: local(data)
        reveal_rank(math.exp(loss))  # revealed: local(data)
        reveal_rank(math.sqrt(2))  # revealed: same
        reveal_rank(np.asarray(x))  # revealed: shard
        reveal_rank(np.mean(x))  # revealed: partial(mean)
        reveal_rank(torch.stack([x, y]))  # revealed: shard
        reveal_rank(torch.cat((x, y)))  # revealed: shard
        reveal_rank(torch.tensor([loss, loss]))  # revealed: local(data)
        reveal_rank(torch.zeros(3))  # revealed: same

        # An unresolved call may gather.
        reveal_rank(something_unknown(loss))  # revealed: unknown
        reveal_rank(self.helper_out_of_sight(loss))  # revealed: unknown

        # Counts, and values that are the same whatever the data are.
        reveal_rank(len(x))  # revealed: partial(count)
        reveal_rank(x.numel())  # revealed: partial(count)
        reveal_rank(x.shape[0])  # revealed: partial(count)
        reveal_rank(x.size(0))  # revealed: partial(count)
        reveal_rank(x.shape[1])  # revealed: local(data)
        reveal_rank(x.shape[-1])  # revealed: local(data)
        reveal_rank(x.size(1))  # revealed: local(data)
        reveal_rank(len(inputs["x"]))  # revealed: partial(count)
        reveal_rank(x.dtype)  # revealed: same
        reveal_rank(x.device)  # revealed: same
        reveal_rank(x.ndim)  # revealed: same
        reveal_rank(x.dim())  # revealed: same
        reveal_rank("labels" in inputs)  # revealed: same
        reveal_rank("labels" not in inputs)  # revealed: same
        reveal_rank(num_items_in_batch is None)  # revealed: unknown
        reveal_rank(inputs["x"] is None)  # revealed: same
        reveal_rank(model is not None)  # revealed: same
        reveal_rank(hasattr(inputs, "x"))  # revealed: same
        reveal_rank(isinstance(x, torch.Tensor))  # revealed: same
        reveal_rank(3 in x)  # revealed: local(data)
        reveal_rank(x.shape == y.shape)  # revealed: local(data)

        # Comparisons and boolean operators.
        reveal_rank(loss > 1)  # revealed: local(data)
        reveal_rank(0 < loss < 1)  # revealed: local(data)
        reveal_rank(loss > unknown)  # revealed: local(data)
        reveal_rank(self.state.global_step % 10 == 0)  # revealed: same
        reveal_rank(self.args.flag and loss > 1)  # revealed: local(data)
        reveal_rank(self.args.flag or self.args.other)  # revealed: same
        reveal_rank(not self.args.flag)  # revealed: same
        reveal_rank(f"{loss:.2f}")  # revealed: local(data)
        reveal_rank(f"{self.args.name}")  # revealed: same
        reveal_rank(loss if self.args.flag else 0.0)  # revealed: local(data)
        reveal_rank((named := x.sum()))  # revealed: partial(sum)
        reveal_rank(named)  # revealed: partial(sum)
        return loss
