"""Common forms of trainers: decorators, closures, functions as values, dicts of metrics."""

import functools

import torch
import torch.distributed as dist
from accelerate import Accelerator
from transformers import Trainer

accelerator = Accelerator()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


@decorated
def wrapped(value):
    return value


@torch.no_grad()
def no_grad(value):
    return value * 2


@functools.lru_cache
def cached(value):
    return value


@accelerator.on_main_process
def on_main(value):
    reveal_rank(value)  # revealed: local(data)
    return value


def apply(function, value):
    return function(value)


def early(value):
    if dist.get_rank() != 0:
        return None
    return value


def default_list(values=None):
    values = values or []
    return values


def closure(scale):
    def inner(value):
        return value * scale

    return inner


def keyword_only(*, value, other=1.0):
    return value, other


def inplace(metrics):
    metrics["a"] = 1.0
    return metrics


def gather_all(metrics):
    return {k: accelerator.gather(v).mean() for k, v in metrics.items()}


def in_list(values):
    return [accelerator.gather(v) for v in values]


class Everyday(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        x = inputs["x"].float()
        same = self.accelerator.gather(loss).mean()
        reveal_rank(wrapped(loss))  # revealed: local(data)
        reveal_rank(no_grad(loss))  # revealed: local(data)
        reveal_rank(cached(same))  # revealed: same
        on_main(loss)
        reveal_rank(apply(float, loss))  # revealed: local(data)
        reveal_rank(apply(no_grad, loss))  # revealed: local(data)
        reveal_rank(apply(lambda v: self.accelerator.gather(v), loss))  # revealed: same
        reveal_rank(early(loss))  # revealed: local(data)
        reveal_rank(default_list([loss])[0])  # revealed: local(data)
        reveal_rank(closure(loss)(2.0))  # revealed: local(data)
        reveal_rank(closure(2.0)(same))  # revealed: same
        a, b = keyword_only(value=loss)
        reveal_rank(a)  # revealed: local(data)
        reveal_rank(b)  # revealed: same
        m = {"a": loss}
        inplace(m)
        reveal_rank(m["a"])  # revealed: same
        m = {"a": loss, "b": x.mean()}
        reveal_rank(gather_all(m)["b"])  # revealed: same
        reveal_rank(in_list([loss, loss])[0])  # revealed: same
        fns = {"a": no_grad, "b": accelerator.gather}
        reveal_rank(fns["a"](loss))  # revealed: local(data)
        reveal_rank(fns["b"](loss))  # revealed: same
        gather = self.accelerator.gather
        reveal_rank(gather(loss))  # revealed: same
        g = getattr(self.accelerator, "gather")
        reveal_rank(g(loss))  # revealed: same
        acc = self.accelerator
        reveal_rank(acc.gather(loss))  # revealed: same
        for k, v in {"a": loss, "b": same}.items():
            if isinstance(v, torch.Tensor):
                v = self.accelerator.gather(v).mean()
            reveal_rank(v)  # revealed: same
        out = loss
        out = self.accelerator.gather(out)
        out = out.mean()
        out = out.item()
        reveal_rank(out)  # revealed: same
        reveal_rank((same if self.args.a else loss) + 0)  # revealed: local(data)
        metrics = {f"{k}_mean": v.mean() for k, v in {"x": x, "y": x}.items()}
        reveal_rank(metrics["x_mean"])  # revealed: partial(mean)
        reveal_rank(max(metrics.values()))  # revealed: local(data)
        reveal_rank(sum(metrics.values()))  # revealed: partial(mean)
        val = metrics.get("x_mean", None)
        if val is not None:
            reveal_rank(val)  # revealed: local(data)
        stats = torch.stack([loss, x.mean()])
        stats = self.accelerator.reduce(stats, "mean")
        l2, m2 = stats
        reveal_rank(l2)  # revealed: same
        l3 = stats[0].item()
        reveal_rank(l3)  # revealed: same
        idx = torch.randperm(4)
        reveal_rank(x[idx])  # revealed: local(data, rng)
        reveal_rank(same[loss > 1])  # revealed: local(data)
        s = str(loss)
        reveal_rank({s: 1}.get(s))  # revealed: local(data)
        reveal_rank(loss.item() if torch.is_tensor(loss) else loss)  # revealed: local(data)
        reveal_rank(round(same.item(), 2))  # revealed: same
        reveal_rank(torch.distributed.get_rank() == 0)  # revealed: local(rank)
        rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
        reveal_rank("part_%d.json" % rank)  # revealed: local(rank)
        reveal_rank("%s_%d.json" % ("part", rank))  # revealed: local(rank)
        reveal_rank("%(name)s.json" % {"name": rank})  # revealed: local(rank)
        reveal_rank("{name}.json".format_map({"name": rank}))  # revealed: local(rank)
        reveal_rank("{name}.json".format_map({"name": world}))  # revealed: same
        reveal_rank("%s_%d.json" % ("part", world))  # revealed: same
        lr = self.lr_scheduler.get_last_lr()[0] if self.lr_scheduler is not None else 0.0
        reveal_rank(lr)  # revealed: same
        reveal_rank(self.state.log_history[-1]["loss"])  # revealed: same
        reveal_rank(list(zip(*[(loss, same)]))[1][0])  # revealed: same
        reveal_rank(max(*[loss, same]))  # revealed: local(data)
        reveal_rank(self.model.config.vocab_size * x.sum())  # revealed: partial(sum)
        reveal_rank(model(**{k: v for k, v in inputs.items() if k != "a"}).loss)  # revealed: local(data)
        reveal_rank(model(inputs["x"], labels=inputs["y"])["loss"])  # revealed: local(data)
        reveal_rank(inputs["x"])  # revealed: shard
        labels = inputs.pop("labels")
        reveal_rank(labels)  # revealed: shard
        reveal_rank(inputs.keys())  # revealed: same
        ids, *others = inputs.values()
        reveal_rank(ids)  # revealed: shard
        return loss
