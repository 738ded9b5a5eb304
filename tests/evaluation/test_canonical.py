"""Which code has the same canonical form, and which must not."""

import pytest

from evaluation.canonical import Helper, canonical, same


def method(*lines: str) -> str:
    body = "\n".join(f"        {line}" for line in lines)
    return f"class Mine(Trainer):\n    def step(self, x, y, z):\n{body}\n"


def log(expression: str) -> str:
    return f"log({expression})"


EXPRESSIONS_EQUAL = [
    ("self.accelerator.gather_for_metrics(x).mean()", "self.accelerator.gather(x).mean()"),
    ("accelerator.gather(x).mean().item()", "accelerator.gather(x.mean()).mean().item()"),
    ("accelerator.gather(x).float().mean()", "accelerator.gather(x.float().mean()).mean()"),
    ("accelerator.gather(x).detach().float().max()", "accelerator.gather(x.detach().float().max()).max()"),
    ("accelerator.gather(x - y).to(z).nanmean()", "accelerator.gather((x - y).to(z).nanmean()).nanmean()"),
    ("accelerator.gather(x.mean().mean()).mean()", "accelerator.gather(x.mean()).mean()"),
    ("accelerator.gather(x.sum()).mean()", "accelerator.gather(x.sum().mean()).mean()"),
    ('accelerator.reduce(x.sum(), reduction="sum")', "accelerator.gather(x.sum()).sum()"),
    ('accelerator.reduce(x.mean(), "mean").item()', "accelerator.gather_for_metrics(x.mean()).mean().item()"),
    ("accelerator.reduce(x.sum())", "accelerator.gather(x.sum()).sum()"),
    ("accelerator.gather(x).mean().detach().cpu()", "accelerator.gather(x).mean().cpu().detach()"),
    ("accelerator.gather(x.detach().mean()).mean().cpu()", "accelerator.gather(x.mean()).mean().detach().cpu()"),
    ('accelerator.gather(x.mean()).mean().to("cpu")', "accelerator.gather(x.mean()).mean().cpu()"),
    (
        "accelerator.gather(torch.tensor(x.mean().item(), device=accelerator.device)).mean().item()",
        "accelerator.gather(x).mean().item()",
    ),
    ("accelerator.gather((x)).mean()", "accelerator.gather(  # of all\n    x,\n).mean()"),
]
EXPRESSIONS_APART = [
    ("accelerator.gather(x).mean()", "accelerator.gather(x).sum()"),
    ("accelerator.gather(x.sum()).mean()", "accelerator.gather(x.mean()).mean()"),
    ("accelerator.gather(x.sum()).mean()", "accelerator.gather(x.sum()).sum()"),
    ("accelerator.gather(x).mean()", "x.mean()"),
    ("accelerator.gather(x.mean()).mean()", "accelerator.gather(y.mean()).mean()"),
    ("accelerator.gather(x.mean()).mean()", "accelerator.gather(x.mean())"),
    ("accelerator.gather(x.mean()).nansum()", "accelerator.gather(x.mean()).mean()"),
    ("accelerator.gather(x.nanmean()).mean()", "accelerator.gather(x.mean()).mean()"),
    ("accelerator.gather(x.std()).mean()", "accelerator.gather(x).std()"),
    ("accelerator.gather(x).mean(dim=0)", "accelerator.gather(x.mean()).mean()"),
    ("accelerator.gather(x).mean()[0]", "accelerator.gather(x)[0].mean()"),
    ("accelerator.gather(x).topk(3).mean().detach()", "accelerator.gather(x.detach()).topk(3).mean()"),
    ("accelerator.gather(x).mean() / y", "accelerator.gather(x / y).mean()"),
    ("accelerator.gather(x).abs().mean()", "accelerator.gather(x).mean().abs()"),
    ('accelerator.reduce(x, reduction="sum")', "accelerator.gather(x).sum()"),
    ('accelerator.reduce(x.sum(), reduction="mean")', "accelerator.gather(x.sum()).sum()"),
    ('accelerator.reduce(x.sum(), reduction="sum", scale=2.0)', "accelerator.gather(x.sum()).sum()"),
    ("torch.gather(x).mean()", "torch.gather(x.mean()).mean()"),
    ("accelerator.gather_for_metrics(x, use_gather_object=True)", "accelerator.gather(x)"),
    ("accelerator.gather(torch.tensor(x.mean(), device=accelerator.device))", "accelerator.gather(x.mean())"),
    ("accelerator.gather(torch.tensor(x.item(), dtype=y, device=accelerator.device))", "accelerator.gather(x)"),
    ("accelerator.gather(torch.tensor(x.item(), device='cpu'))", "accelerator.gather(x)"),
    ("f(torch.tensor(x.item(), device=accelerator.device))", "f(x)"),
    ("x.mean().mean()", "x.mean()"),
    ("x.detach().mean()", "x.mean()"),
]


@pytest.mark.parametrize(("one", "other"), EXPRESSIONS_EQUAL)
def test_the_same_expression(one, other):
    assert same(method(log(one)), method(log(other)))
    assert canonical(method(log(one))) == canonical(method(log(other)))


@pytest.mark.parametrize(("one", "other"), EXPRESSIONS_APART)
def test_another_expression(one, other):
    assert not same(method(log(one)), method(log(other)))
    assert canonical(method(log(one))) != canonical(method(log(other)))


STATEMENTS_EQUAL = [
    (["a = accelerator.gather(x)", "log(a.mean().item())"], ["log(accelerator.gather(x).mean().item())"]),
    (["a = x", "log(accelerator.gather(a.mean()).mean())"], ["log(accelerator.gather(x.mean()).mean())"]),
    (["a = y.mean()", "z = f()", "log(a)"], ["z = f()", "log(y.mean())"]),
    (["a = y.mean()", "if z:", "    log(a)"], ["if z:", "    log(y.mean())"]),
    (["a = x", "b = a", "log(b.sum())"], ["log(x.sum())"]),
    (
        ["a = x.sum().item()", "log(accelerator.gather(torch.tensor(a, device=accelerator.device)).sum())"],
        ["log(accelerator.gather(x).sum())"],
    ),
    (["a = self.gap.mean()", "self._metrics['k'] = a"], ["self._metrics['k'] = self.gap.mean()"]),
]
STATEMENTS_APART = [
    # Only some ranks would reach the gather.
    (["a = accelerator.gather(x)", "if z:", "    log(a)"], ["if z:", "    log(accelerator.gather(x))"]),
    (["a = accelerator.gather(x)", "if z:", "    return", "log(a)"],
     ["if z:", "    return", "log(accelerator.gather(x))"]),
    (["a = accelerator.gather(x)", "log(z and a)"], ["log(z and accelerator.gather(x))"]),
    (["a = accelerator.gather(x)", "log(a if z else 0)"], ["log(accelerator.gather(x) if z else 0)"]),
    (["a = self.totals(x)", "if z:", "    log(a)"], ["if z:", "    log(self.totals(x))"]),
    # More often.
    (["a = accelerator.gather(x)", "for i in y:", "    log(a)"], ["for i in y:", "    log(accelerator.gather(x))"]),
    (["a = f(x)", "log([a for i in y])"], ["log([f(x) for i in y])"]),
    (["a = x", "log(lambda: a)"], ["log(lambda: x)"]),
    # Something has changed in between.
    (["a = x.mean()", "x = y", "log(a)"], ["x = y", "log(x.mean())"]),
    (["a = x.mean()", "x += 1", "log(a)"], ["x += 1", "log(x.mean())"]),
    (["a = x.mean()", "x[0] = y", "log(a)"], ["x[0] = y", "log(x.mean())"]),
    (["a = x.mean()", "x.add_(1)", "log(a)"], ["x.add_(1)", "log(x.mean())"]),
    (["a = self.x.mean()", "self.x = y", "log(a)"], ["self.x = y", "log(self.x.mean())"]),
    (["a = x.mean()", "for x in y:", "    pass", "log(a)"], ["for x in y:", "    pass", "log(x.mean())"]),
    (["a = x.mean()", "if z:", "    x = y", "    log(a)"], ["if z:", "    x = y", "    log(x.mean())"]),
    # The name is bound or read more than once, or for others as well.
    (["a = x", "a = y", "log(a)"], ["log(x)"]),
    (["global a", "a = x", "log(a)"], ["global a", "log(x)"]),
    (["log(x)", "log(y)"], ["log(y)", "log(x)"]),
    (["log(x)"], ["log(x)", "log(x)"]),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), STATEMENTS_EQUAL)
def test_the_same_statements(one, other):
    assert same(method(*one), method(*other))


@pytest.mark.parametrize(("one", "other"), STATEMENTS_APART)
def test_other_statements(one, other):
    assert not same(method(*one), method(*other))


@pytest.mark.parametrize(
    "pairs", [EXPRESSIONS_EQUAL, EXPRESSIONS_APART, STATEMENTS_EQUAL, STATEMENTS_APART], ids=range(4)
)
def test_the_form_is_final(pairs):
    for text in [each for pair in pairs for each in pair]:
        once = canonical(method(*([log(text)] if isinstance(text, str) else text)))
        assert canonical(once) == once


def test_what_stands_elsewhere_in_the_file_counts():
    text = method("log(accelerator.gather(x).mean())")
    mended = method("log(accelerator.gather(x.mean()).mean())")
    assert same(f"import os\n{text}", f"import os\n{mended}")
    assert not same(f"import os\n{text}", f"import torch\nimport os\n{mended}")
    assert not same(f"{text}\nRATE = 1\n", f"{mended}\nRATE = 2\n")
    assert not same(text, mended.replace("Trainer", "Other"))
    assert not same(text, mended.replace("class Mine", "@register\nclass Mine"))


DEFINITION = "def helper_(x):\n    return (x.mean())\n"


@pytest.mark.parametrize("head", [DEFINITION, "from .moved import helper_\n"])
def test_the_helper_of_a_neutral_step_is_undone(head):
    right = method("log(accelerator.gather(x).mean())")
    mended = method("log(accelerator.gather(helper_(x)).mean())")
    helper = Helper("helper_", DEFINITION)
    assert same(right, head + mended, helper)
    assert not same(right, head + mended)
    assert not same(right, head + method("log(helper_(x))"), helper)
    assert not same(right, head + method("log(accelerator.gather(helper_(y)).mean())"), helper)


def test_a_helper_that_does_more_stays():
    longer = Helper("helper_", "def helper_(x):\n    print(x)\n    return x.mean()\n")
    mended = longer.text + method("log(accelerator.gather(helper_(x)).mean())")
    assert not same(method("log(accelerator.gather(x).mean())"), mended, longer)
