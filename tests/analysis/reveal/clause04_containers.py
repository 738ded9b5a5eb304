"""Clause 4: containers keep facts per key, per position, and a rest."""

from collections import defaultdict

import torch
from transformers import Trainer


class Containers(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        x = inputs["x"].float()
        same = self.accelerator.gather(loss).mean()
        prefix = "eval_" if self.args.flag else ""

        d = {"loss": loss, "beta": 0.1, f"{prefix}kl": x.mean()}
        reveal_rank(d["loss"])  # revealed: local(data)
        reveal_rank(d["beta"])  # revealed: same
        reveal_rank(d[f"{prefix}kl"])  # revealed: partial(mean)
        reveal_rank(d["eval_kl"])  # revealed: partial(mean)
        reveal_rank(d.get("beta"))  # revealed: same
        reveal_rank(d.get("loss", 0.0))  # revealed: local(data)
        reveal_rank(d.get("nothing", 0.0))  # revealed: same
        d["beta"] = loss
        reveal_rank(d["beta"])  # revealed: local(data)
        d["loss"] = same
        reveal_rank(d["loss"])  # revealed: same
        # An unknown key is the rest: an entry with its own name keeps its fact.
        d[self.args.name] = loss
        reveal_rank(d["loss"])  # revealed: same
        reveal_rank(d["other"])  # revealed: local(data)

        e = {"a": 1.0}
        e.update({"b": loss})
        reveal_rank(e["a"])  # revealed: same
        reveal_rank(e["b"])  # revealed: local(data)
        f = {**e, "c": same}
        reveal_rank(f["a"])  # revealed: same
        reveal_rank(f["b"])  # revealed: local(data)
        reveal_rank(f["c"])  # revealed: same
        g = dict(e, b=1.0)
        reveal_rank(g["b"])  # revealed: same
        e |= {"a": loss}
        reveal_rank(e["a"])  # revealed: local(data)
        reveal_rank(f.pop("b"))  # revealed: local(data)
        f.setdefault("d", loss)
        reveal_rank(f["d"])  # revealed: local(data)
        h = f.copy()
        reveal_rank(h["c"])  # revealed: same
        del h["c"]

        # A loop over a known dict acts key by key.
        metrics = {"local": loss, "same": same, "half": x.sum()}
        for k, v in metrics.items():
            metrics[k] = v.item()
        reveal_rank(metrics["local"])  # revealed: local(data)
        reveal_rank(metrics["same"])  # revealed: same
        reveal_rank(metrics["half"])  # revealed: partial(sum)
        floats = {k: float(v) for k, v in metrics.items()}
        reveal_rank(floats["local"])  # revealed: local(data)
        reveal_rank(floats["same"])  # revealed: same
        renamed = {f"train/{k}": v for k, v in metrics.items()}
        reveal_rank(renamed["train/same"])  # revealed: same
        reveal_rank(renamed["train/local"])  # revealed: local(data)
        gathered = {k: self.accelerator.gather(torch.tensor(v)).mean() for k, v in metrics.items()}
        reveal_rank(gathered["local"])  # revealed: same
        for value in gathered.values():
            reveal_rank(value)  # revealed: same

        # Positions.
        pair = loss, same
        reveal_rank(pair[0])  # revealed: local(data)
        reveal_rank(pair[1])  # revealed: same
        reveal_rank(pair[-1])  # revealed: same
        first, second = pair
        reveal_rank(first)  # revealed: local(data)
        reveal_rank(second)  # revealed: same
        head, *tail = same, loss, loss
        reveal_rank(head)  # revealed: same
        reveal_rank(tail[0])  # revealed: local(data)
        (a, b), c = (same, loss), 1
        reveal_rank(a)  # revealed: same
        reveal_rank(b)  # revealed: local(data)
        reveal_rank(c)  # revealed: same
        longer = (same, loss, same, loss, same) if self.args.flag else (same, loss, same, loss, same, loss)
        reveal_rank(longer[0])  # revealed: same
        reveal_rank(longer[1])  # revealed: local(data)
        reveal_rank(longer[4])  # revealed: same
        reveal_rank((same, loss)[1:][0])  # revealed: local(data)
        reveal_rank((same, loss)[0, 1:])  # revealed: unknown
        joined = (same,) + (loss,)
        reveal_rank(joined[0])  # revealed: same
        reveal_rank(joined[1])  # revealed: local(data)

        # Lists.
        items = [same, loss]
        reveal_rank(items[0])  # revealed: same
        reveal_rank(items[1])  # revealed: local(data)
        reveal_rank(items[self.args.index])  # revealed: local(data)
        values = []
        values.append(same)
        reveal_rank(values[0])  # revealed: same
        values.append(loss)
        reveal_rank(values[1])  # revealed: local(data)
        values.extend([same])
        reveal_rank(values[-1])  # revealed: local(data)
        reveal_rank(sum(values))  # revealed: local(data)
        reveal_rank(len(values))  # revealed: same
        reveal_rank([v.mean() for v in [x, x]][0])  # revealed: partial(mean)
        reveal_rank(len([v for v in inputs["x"]]))  # revealed: partial(count)
        reveal_rank([loss][0])  # revealed: local(data)
        reveal_rank(values.pop())  # revealed: local(data)
        for index, value in enumerate([same, same]):
            reveal_rank(index)  # revealed: same
            reveal_rank(value)  # revealed: same
        for one, two in zip([same], [loss]):
            reveal_rank(one)  # revealed: same
            reveal_rank(two)  # revealed: local(data)

        # Entries created on access.
        store = defaultdict(list)
        store["a"].append(loss)
        store["b"].append(same)
        reveal_rank(store["a"][0])  # revealed: local(data)
        reveal_rank(store["b"][0])  # revealed: same
        sums = defaultdict(float)
        sums["a"] += loss
        reveal_rank(sums["a"])  # revealed: local(data)
        reveal_rank(sums["b"])  # revealed: same
        nested = defaultdict(lambda: defaultdict(list))
        nested["train"]["a"].append(loss)
        nested["train"]["b"].append(same)
        reveal_rank(nested["train"]["a"][0])  # revealed: local(data)
        reveal_rank(nested["train"]["b"][0])  # revealed: same

        # A container in a container.
        both = {"inner": {"x": loss, "y": same}, "list": [same]}
        reveal_rank(both["inner"]["x"])  # revealed: local(data)
        reveal_rank(both["inner"]["y"])  # revealed: same
        reveal_rank(both["list"][0])  # revealed: same
        return loss
