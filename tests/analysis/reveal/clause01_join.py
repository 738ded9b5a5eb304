"""Clause 1: where control flow merges. Local absorbs all but unknown, which absorbs everything."""

import torch
from transformers import Trainer


class Joins(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        x = inputs["x"].float()
        loss = model(**inputs).loss
        flag = self.args.flag

        a = 0.0
        if flag:
            a = 1.0
        reveal_rank(a)  # revealed: same

        b = 0.0
        if flag:
            b = loss
        reveal_rank(b)  # revealed: local(data)

        c = loss
        if flag:
            c = something_unknown(c)
        reveal_rank(c)  # revealed: unknown

        d = 0.0
        if flag:
            d = something_unknown()
        reveal_rank(d)  # revealed: unknown

        e = x if flag else x.exp()
        reveal_rank(e)  # revealed: shard

        f = x.sum() if flag else x.abs().sum()
        reveal_rank(f)  # revealed: partial(sum)

        g = x.sum() if flag else x.mean()
        reveal_rank(g)  # revealed: local(data)

        h = x if flag else torch.zeros(2)
        reveal_rank(h)  # revealed: local(data)

        i = x.mean() if flag else 0.0
        reveal_rank(i)  # revealed: local(data)

        j = self.accelerator.gather(loss) if flag else loss
        reveal_rank(j)  # revealed: local(data)

        k = self.accelerator.gather(loss) if flag else 0.0
        reveal_rank(k)  # revealed: same

        m = loss if flag else self.accelerator.process_index
        reveal_rank(m)  # revealed: local(data, rank)

        n = x.mean()
        if flag:
            n = something_unknown(n)
        else:
            n = 1.0
        reveal_rank(n)  # revealed: unknown
        return loss

    def training_step(self, model, inputs, num_items_in_batch=None):
        total = 0.0
        for _ in range(3):
            total += model(**inputs).loss
        reveal_rank(total)  # revealed: local(data)

        steps = 0
        for _ in range(3):
            steps += 1
        reveal_rank(steps)  # revealed: same

        carried, last = 0.0, 0.0
        for _ in range(3):
            last = carried
            carried = model(**inputs).loss
        reveal_rank(last)  # revealed: local(data)

        turned = model(**inputs).loss
        for _ in range(3):
            turned = something_unknown(turned)
        reveal_rank(turned)  # revealed: unknown

        while self.args.more:
            total = self.accelerator.gather(total).mean()
            reveal_rank(total)  # revealed: same
        reveal_rank(total)  # revealed: local(data)
        return total

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        # `BOTTOM` is neutral: a value that only comes from the previous iteration has that iteration's fact.
        best = None
        for _ in range(3):
            best = model(**inputs).loss if best is None else best
        reveal_rank(best)  # revealed: local(data)
        found = None
        for _ in range(3):
            found = 1.0 if found is None else found
        reveal_rank(found)  # revealed: same
        match self.args.kind:
            case "a":
                chosen = inputs["x"].sum()
            case "b":
                chosen = inputs["y"].sum()
            case _:
                chosen = inputs["z"].sum()
        reveal_rank(chosen)  # revealed: partial(sum)
        try:
            tried = inputs["x"].mean()
        except ValueError:
            tried = 0.0
        reveal_rank(tried)  # revealed: local(data)
        return best


class OfOtherKinds(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        flag = self.args.flag

        # The contents of a dict or a tuple are unknown if it may be either.
        a = {"loss": loss} if flag else (loss, 1.0)
        reveal_rank(a)  # revealed: unknown
        reveal_rank(a["loss"].mean())  # revealed: unknown
        b = [loss] if flag else "none"
        reveal_rank(b)  # revealed: unknown
        c = (loss, 1.0) if flag else "none"
        reveal_rank(c)  # revealed: unknown
        d = (1.0, 2.0) if flag else "none"
        reveal_rank(d)  # revealed: same
        e = {"loss": loss} if flag else {"loss": loss.exp()}
        reveal_rank(e["loss"])  # revealed: local(data)
        f = {"loss": loss} if flag else None
        reveal_rank(f["loss"])  # revealed: local(data)
        # In a list of elements that are the same on all ranks there is nothing that could be unknown.
        names = list(next(iter(self.train_dataset)).keys()) if flag else self.train_dataset.column_names
        reveal_rank(names)  # revealed: same
        reveal_rank("input_ids" in names)  # revealed: same
        g = [[loss]] if flag else "none"
        reveal_rank(g)  # revealed: unknown
        return loss
