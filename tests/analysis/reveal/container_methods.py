"""Methods of lists, sets and dicts, and builtins applied to containers."""

import torch
from transformers import Trainer


class Containers(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        x = inputs["x"].float()
        same = self.accelerator.gather(loss).mean()
        d = dict.fromkeys(("a", "b"), 0.0)
        d["a"] += loss
        reveal_rank(d["a"])  # revealed: local(data)
        reveal_rank(d["b"])  # revealed: same
        lst = [same]
        lst.insert(0, loss)
        reveal_rank(lst[0])  # revealed: local(data)
        lst2 = [same, same]
        lst2.reverse()
        reveal_rank(lst2[0])  # revealed: same
        lst3 = [loss, same]
        lst3.sort()
        reveal_rank(lst3[0])  # revealed: local(data)
        reveal_rank(lst3.index(same))  # revealed: local(data)
        reveal_rank(lst2.count(same))  # revealed: same
        lst3.remove(same)
        reveal_rank(lst3[0])  # revealed: local(data)
        st = {same}
        st.add(loss)
        reveal_rank(st.pop())  # revealed: local(data)
        e = {"a": loss}
        k, v = e.popitem()
        reveal_rank(v)  # revealed: local(data)
        f = {"a": loss, "b": same}
        reveal_rank(list(f.values())[1])  # revealed: local(data)
        reveal_rank(sorted(f.keys())[0])  # revealed: same
        reveal_rank([vv for kk, vv in sorted(f.items())][0])  # revealed: local(data)
        f.clear()
        reveal_rank(f.get("a", 0.0))  # revealed: same
        g = []
        if loss > 1:
            g.append(1.0)
        reveal_rank(len(g))  # revealed: partial(count)
        h = []
        if self.accelerator.is_main_process:
            h.append(same)
        reveal_rank(len(h))  # revealed: partial(count)
        for row in x:
            if row.sum() > 0:
                h.append(1.0)
        reveal_rank(len(h))  # revealed: partial(count)
        i = {"a": {"b": loss}}
        j = i.copy()
        reveal_rank(j["a"]["b"])  # revealed: local(data)
        reveal_rank(i.get("a", {}).get("b", 0))  # revealed: local(data)
        reveal_rank("a" in i)  # revealed: same
        reveal_rank(loss in [same])  # revealed: local(data)
        reveal_rank(same in [loss])  # revealed: local(data)
        reveal_rank(1 in x.tolist())  # revealed: local(data)
        reveal_rank(loss == same)  # revealed: local(data)
        reveal_rank(same != 1)  # revealed: same
        reveal_rank("a" == "b")  # revealed: same
        reveal_rank(x.shape[0] == 4)  # revealed: local(data)
        reveal_rank(len(x) > 3)  # revealed: local(data)
        reveal_rank(x.dim() == 2)  # revealed: same
        reveal_rank(bool(inputs))  # revealed: shard
        reveal_rank(list(x.shape))  # revealed: same
        reveal_rank(list(x.shape)[0])  # revealed: local(data)
        b, *_ = x.shape
        reveal_rank(b)  # revealed: partial(count)
        reveal_rank(max(1, b))  # revealed: local(data)
        reveal_rank(torch.zeros(x.shape))  # revealed: same
        reveal_rank(x.view(x.shape[0], -1))  # revealed: shard
        reveal_rank(x.sum() / x.shape[0])  # revealed: local(data)
        reveal_rank(x.sum().item() / len(x))  # revealed: local(data)
        reveal_rank(min(3, len(x)))  # revealed: local(data)
        reveal_rank(slice(0, 3))  # revealed: same
        reveal_rank(getattr(inputs, "x"))  # revealed: shard
        reveal_rank(getattr(model(**inputs), "loss", None))  # revealed: local(data)
        reveal_rank(getattr(self, "beta", 0.1))  # revealed: unknown
        reveal_rank(next(iter(x)))  # revealed: shard
        reveal_rank(next(iter([]), loss))  # revealed: local(data)
        reveal_rank(max([loss, same], key=lambda v: v))  # revealed: local(data)
        reveal_rank(max([], default=loss))  # revealed: local(data)
        reveal_rank(sum([same], loss))  # revealed: local(data)
        reveal_rank(dict([("a", loss)])["a"])  # revealed: local(data)
        reveal_rank(dict(zip(["a", "b"], [loss, same]))["a"])  # revealed: local(data)
        reveal_rank(set([same, loss]).pop())  # revealed: local(data)
        reveal_rank(isinstance(loss, torch.Tensor) and loss > 1)  # revealed: local(data)
        reveal_rank(float("inf"))  # revealed: same
        reveal_rank(int("3"))  # revealed: same
        reveal_rank(range(3)[0])  # revealed: same
        reveal_rank(list(map(lambda v: v.item(), [loss]))[0])  # revealed: local(data)
        reveal_rank(list(filter(lambda v: v > 1, [same]))[0])  # revealed: same
        reveal_rank(list(enumerate([loss]))[0][1])  # revealed: local(data)
        return loss
