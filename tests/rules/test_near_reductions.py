"""TRL003 where the function reduces something of what it logs, in a way that may not be understood."""

from __future__ import annotations

import textwrap

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL003")
LOOP = """\
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

from somewhere import tools

def train(model, rows, args):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    logs, total = {{}}, 0
    for x, y in loader:
        logits = model(x)
        loss = torch.nn.functional.cross_entropy(logits, y)
        loss.backward()
        accuracy = (logits.argmax(-1) == y).float().mean()
{}
"""
ON_ONE_WAY = "if args.exchange:\n    dist.all_reduce({})\n"


@pytest.mark.parametrize(
    ("body", "is_there"),
    [
        ("wandb.log({'accuracy': accuracy})", True),
        (ON_ONE_WAY.format("accuracy") + "wandb.log({'accuracy': accuracy})", False),
        (ON_ONE_WAY.format("accuracy") + "wandb.log({'accuracy': 100 * accuracy.item()})", False),
        (ON_ONE_WAY.format("accuracy") + "shown = 100 * accuracy\nwandb.log({'accuracy': shown})", False),
        (ON_ONE_WAY.format("accuracy") + "logs['accuracy'] = accuracy\nwandb.log(logs)", False),
        (ON_ONE_WAY.format("accuracy") + "total += accuracy\nwandb.log({'accuracy': total / 9})", False),
        # Of something else, under another name, or too late.
        (ON_ONE_WAY.format("loss") + "wandb.log({'accuracy': accuracy})", True),
        ("if args.exchange:\n    every = tools.reduce_tensor(accuracy)\nwandb.log({'accuracy': accuracy})", True),
        ("wandb.log({'accuracy': accuracy})\n" + ON_ONE_WAY.format("accuracy"), True),
        # Of another metric in the same dict.
        ("logs['accuracy'] = accuracy\nlogs['loss'] = tools.reduce_tensor(loss)\nwandb.log(logs)", True),
        ("logs = {'accuracy': accuracy, 'loss': tools.reduce_tensor(loss)}\nwandb.log(logs)", True),
        ("logs.update({'accuracy': accuracy, 'loss': tools.reduce_tensor(loss)})\nwandb.log(logs)", True),
        ("wandb.log({'accuracy': accuracy, 'loss': tools.reduce_tensor(loss)})", True),
        # These exchange nothing between ranks.
        ("best = torch.gather(logits, -1, y).mean()\nwandb.log({'best': best})", True),
        ("best = logits.gather(-1, y).mean()\nwandb.log({'best': best})", True),
        ("best = logits.scatter_reduce(0, y, logits, 'sum').mean()\nwandb.log({'best': best})", True),
    ],
)
def test_what_is_reduced_nearby_has_to_be_asked_for(body, is_there):
    findings = SNIPPETS.findings(LOOP.format(textwrap.indent(body, 8 * " ")))
    assert [each.by_default for each in findings] == [is_there]


SETTLED = """
def settle(values, several, others=None):
    if not several:
        return
    for key in values:
        shown = torch.tensor(values[key].item())
        {}
        {}
"""
EXCHANGED, FILLED = "dist.all_reduce(shown)", "values[key].value = shown.item()"


@pytest.mark.parametrize(
    ("lines", "call", "is_there"),
    [
        ((EXCHANGED, FILLED), "settle(logs, args.several)", False),
        ((EXCHANGED, FILLED), "settle(several=args.several, values=logs)", False),
        # Not exchanged, only looked at, of something else, or too late.
        (("shown += 1", FILLED), "settle(logs, args.several)", True),
        ((EXCHANGED, "assert shown.isfinite()"), "settle(logs, args.several)", True),
        ((EXCHANGED, "others[key] = shown"), "settle(logs, args.several, total)", True),
        ((EXCHANGED, FILLED), "settle(total, args.several)", True),
        ((EXCHANGED, FILLED), "pass\nwandb.log(logs)\nsettle(logs, args.several)\nlogs = {}", True),
    ],
)
def test_a_function_may_put_what_it_has_reduced_into_a_parameter(lines, call, is_there):
    body = f"logs['accuracy'] = accuracy\n{call}\nwandb.log(logs)"
    code = LOOP.format(textwrap.indent(body, 8 * " ")) + SETTLED.format(*lines)
    assert [each.by_default for each in SNIPPETS.findings(code)] == [is_there]


HELPER = """\
import torch
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler

def judge(model, loader, several, extra):
    right = torch.zeros(1)
    wrong = torch.zeros(1)
    for x, y in loader:
        right += (model(x) == y).sum()
        wrong += (model(x) != y).sum()
    if several:
        dist.all_reduce(right)
{}

def main(model, rows, several):
    dist.init_process_group("nccl")
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
{}
"""


@pytest.mark.parametrize(
    ("end", "log", "is_there"),
    [
        ("return right.item()", "right = judge(model, loader, several, 1)\nwandb.log({'right': right})", False),
        ("return wrong.item()", "wrong = judge(model, loader, several, 1)\nwandb.log({'wrong': wrong})", True),
        ("return right.item()", "wandb.log({'right': judge(model, loader, several, 1)})", False),
        ("return wrong.item()", "wandb.log({'wrong': judge(model, loader, several, 1)})", True),
        # Of several results, the one that is logged.
        (
            "return right.item(), wrong.item()",
            "one, two = judge(model, loader, several, 1)\nwandb.log({'right': one})",
            False,
        ),
        (
            "return right.item(), wrong.item()",
            "one, two = judge(model, loader, several, 1)\nwandb.log({'wrong': two})",
            True,
        ),
        (
            "return {'right': right.item(), 'wrong': wrong.item()}",
            "both = judge(model, loader, several, 1)\nwandb.log({'right': both['right']})",
            False,
        ),
        (
            "return {'right': right.item(), 'wrong': wrong.item()}",
            "both = judge(model, loader, several, 1)\nwandb.log({'wrong': both['wrong']})",
            True,
        ),
    ],
)
def test_a_function_that_returns_the_value_may_have_reduced_it(end, log, is_there):
    text = HELPER.format(textwrap.indent(end, 4 * " "), textwrap.indent(log, 4 * " "))
    assert [each.by_default for each in SNIPPETS.findings(text)] == [is_there]


PASSED_ON = """\
def measured(accuracy):
    return {{'accuracy': accuracy.item()}}

def show(values):
    wandb.log(values)

def other(values):
    return values

def exchanged(values, args):
    if args.few:
        return values
    names = sorted(values)
    numbers = torch.tensor([float(values[each]) for each in names])
    dist.all_reduce(numbers)
    return dict(zip(names, numbers.tolist()))

"""


@pytest.mark.parametrize(
    ("body", "is_there"),
    [
        ("show(measured(accuracy))", True),
        ("values = measured(accuracy)\nshow(values)", True),
        ("values = measured(accuracy)\nvalues = exchanged(values, args)\nshow(values)", False),
        ("show(exchanged(measured(accuracy), args))", False),
        # Of something else, or for something else.
        ("values = measured(accuracy)\nlosses = exchanged(measured(loss), args)\nshow(values)", True),
        ("values = measured(accuracy)\nother(exchanged(values, args))\nshow(values)", True),
    ],
)
def test_what_is_reduced_on_the_way_to_the_function_that_logs_it(body, is_there):
    text = LOOP.replace("def train", PASSED_ON + "def train").format(textwrap.indent(body, 8 * " "))
    assert [each.by_default for each in SNIPPETS.findings(text)] == [is_there]


STORED = """\
import torch
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler

class Base:
    def averaged(self, values):
        if self.several:
            names, numbers = [], []
            for name, value in values.items():
                names.append(name)
                numbers.append(value)
            numbers = torch.stack(numbers)
            dist.reduce(numbers, dst=0)
            values = dict(zip(names, numbers / dist.get_world_size()))
        return {{name: value.item() for name, value in values.items()}}

    def plain(self, values):
        return {{name: value.item() for name, value in values.items()}}

    def one_of(self, values):
        if self.several:
            dist.all_reduce(values["loss"])
        return values

    def shown(self):
        return self.logs

class Judge(Base):
    def __init__(self, model, several):
        self.model, self.several = model, several

    def step(self, x, y):
        found = {{}}
        found["accuracy"] = (self.model(x).argmax(-1) == y).float().mean()
{}

def main(model, rows, several):
    dist.init_process_group("nccl")
    judge = Judge(model, several)
    for x, y in DataLoader(rows, sampler=DistributedSampler(rows)):
        judge.step(x, y)
        wandb.log(judge.shown())
"""


@pytest.mark.parametrize(
    ("end", "is_there"),
    [
        ("self.logs = self.averaged(found)", False),
        ("self.logs = self.averaged(values=found)", False),
        ("found['count'] = 1\nself.logs = self.averaged(found)", False),
        ("found = self.averaged(found)\nself.logs = found", False),
        ("self.logs = self.plain(found)", True),
        # Not of this key, of what is logged, or of what is passed to it.
        ("self.logs = self.one_of(found)", True),
        ("self.means = self.averaged(found)\nself.logs = found", True),
        ("self.averaged(found)\nself.logs = found", True),
        ("self.logs = {**found, **self.averaged({'loss': found['loss']})}", True),
    ],
)
def test_what_is_put_into_a_dict_may_be_reduced_with_it(end, is_there):
    text = STORED.format(textwrap.indent(end, 8 * " "))
    assert [each.by_default for each in SNIPPETS.findings(text)] == [is_there]


KEPT = """\
from collections import defaultdict
import torch
from ranking import ranked
from transformers import Trainer

class Mine(Trainer):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.kept = defaultdict(list)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        out = model(**inputs)
        self.kept["top"].append((out.logits.argmax(-1) == 0).float().mean())
        return out.loss

    def log(self, logs, *args, **kwargs):
        {}
        super().log(logs, *args, **kwargs)

    def evaluate(self, *args, **kwargs):
        self.log(self.measured("eval"))

    def measured(self, prefix):
        rows = [self.accelerator.gather_for_metrics(self.model(**each).logits) for each in self.get_eval_dataloader()]
        return {{f"{{prefix}}_score": ranked(torch.cat(rows))}}

    def show_kept(self):
        logs = {{key: torch.stack(each).mean().item() for key, each in self.kept.items()}}
        logs = self.exchanged(logs)
        self.log(logs)

    def exchanged(self, logs):
        if self.args.few:
            return logs
        numbers = torch.tensor([float(each) for each in logs.values()])
        torch.distributed.all_reduce(numbers)
        return dict(zip(logs, numbers.tolist()))
"""


@pytest.mark.parametrize(
    ("body", "is_there"),
    [
        ('logs["top"] = torch.stack(self.kept["top"]).mean().item()', True),
        ("logs |= {key: torch.stack(each).mean().item() for key, each in self.kept.items()}", True),
        # It only comes with the call, and some call passes what has been reduced.
        ("self.kept.clear()", False),
        ("self.kept = defaultdict(list)", False),
    ],
)
def test_what_some_call_passes_is_not_what_the_function_gets_from_an_attribute(body, is_there):
    assert [each.by_default for each in SNIPPETS.findings(KEPT.format(body))] == [is_there]
