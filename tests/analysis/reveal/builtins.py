"""Python's own functions."""

import os
from typing import cast

from transformers import Trainer


class Builtins(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        x = inputs["x"].float()
        loss = model(**inputs).loss
        same = self.accelerator.gather(loss).mean()
        mixed = [same, loss]
        equal = [same, same]

        reveal_rank(float(loss))  # revealed: local(data)
        reveal_rank(float(same))  # revealed: same
        reveal_rank(float(x.sum()))  # revealed: partial(sum)
        reveal_rank(int(x.sum()))  # revealed: partial(sum)
        reveal_rank(bool(x.sum()))  # revealed: local(data)
        reveal_rank(round(loss.item(), 3))  # revealed: local(data)
        reveal_rank(abs(loss))  # revealed: local(data)
        reveal_rank(str(loss))  # revealed: local(data)
        reveal_rank(len(mixed))  # revealed: same
        reveal_rank(len(inputs["input_ids"]))  # revealed: partial(count)
        reveal_rank(len([row for row in x if row.sum() > 0]))  # revealed: partial(count)
        reveal_rank(len(self.get_train_dataloader()))  # revealed: same
        reveal_rank(sum(mixed))  # revealed: local(data)
        reveal_rank(sum(equal))  # revealed: same
        reveal_rank(sum(mixed) / len(mixed))  # revealed: local(data)
        reveal_rank(sum(x))  # revealed: partial(sum)
        reveal_rank(sum(len(row) for row in inputs["input_ids"]))  # revealed: local(data)
        reveal_rank(sum(1 for row in x))  # revealed: partial(sum)
        reveal_rank(sum(v for v in equal))  # revealed: same
        reveal_rank(max(mixed))  # revealed: local(data)
        reveal_rank(max(equal))  # revealed: same
        reveal_rank(max(loss, 0.0))  # revealed: local(data)
        reveal_rank(max(1, 2))  # revealed: same
        reveal_rank(min(loss.item(), 1.0))  # revealed: local(data)
        reveal_rank(max(x.tolist()))  # revealed: partial(max)
        reveal_rank(any(v > 1 for v in mixed))  # revealed: local(data)
        reveal_rank(all(v > 1 for v in equal))  # revealed: same
        own = [row for row in x if row.sum() > 0]
        # Elements of one class all have the same answer, however many there are. What they hold differs.
        reveal_rank(all(isinstance(v, float) for v in own))  # revealed: same
        reveal_rank(all(v > 1 for v in own))  # revealed: local(data)
        reveal_rank(any(True for v in own))  # revealed: local(data)
        reveal_rank(list(mixed)[0])  # revealed: local(data)
        reveal_rank(sorted(mixed)[0])  # revealed: local(data)
        reveal_rank(sorted(equal)[0])  # revealed: same
        reveal_rank(list(reversed(equal))[0])  # revealed: same
        reveal_rank(tuple(mixed)[1])  # revealed: local(data)
        reveal_rank(dict(a=loss)["a"])  # revealed: local(data)
        reveal_rank(list(range(3))[0])  # revealed: same
        reveal_rank(list(range(len(os.listdir("out")), 9))[0])  # revealed: local(io)
        reveal_rank(list(map(float, mixed))[0])  # revealed: local(data)
        reveal_rank([v for v in filter(None, equal)][0])  # revealed: same
        reveal_rank(next(iter(equal)))  # revealed: same
        reveal_rank(next(iter(self.get_train_dataloader()))["x"])  # revealed: shard
        reveal_rank(isinstance(loss, float))  # revealed: same
        reveal_rank(hasattr(self, "ref_model"))  # revealed: same
        reveal_rank(getattr(self.args, "beta", 0.1))  # revealed: same
        reveal_rank(getattr(self.model.config, "eos_token_id"))  # revealed: same
        reveal_rank(type(loss))  # revealed: same
        reveal_rank(print(loss))  # revealed: same
        reveal_rank(open("file").read())  # revealed: unknown
        reveal_rank(cast(float, loss))  # revealed: local(data)
        reveal_rank(cast("float", 1.0))  # revealed: same
        reveal_rank(divmod(len(x), 2))  # revealed: local(data)
        reveal_rank(pow(loss, 2))  # revealed: local(data)
        reveal_rank("a".join(["b", "c"]))  # revealed: same
        reveal_rank("{:.2f}".format(loss))  # revealed: local(data)
        reveal_rank("name".upper())  # revealed: same
        return loss
