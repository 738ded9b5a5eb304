"""TRL005: what it reports, its messages, the applicability of its fix, and what the fix writes."""

from __future__ import annotations

import pytest
from snippets import SETTINGS, Snippets, shown, trainer

from trl_lint import api
from trl_lint.findings import Applicability
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL005")
SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


def step(body: str) -> str:
    """A hook that ends in `body`, with the logits of a language model, a mask and a gather."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return trainer(
        "def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
        "    gather = self.accelerator.gather\n"
        '    ids, mask = inputs["input_ids"], inputs["attention_mask"]\n'
        "    logits = model(**inputs, logits_to_keep=0).logits\n" + lines
    )


def test_a_finding_says_what_where_why_and_how():
    text = step('total = self.accelerator.gather(inputs["attention_mask"])')
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'self.accelerator.gather(inputs["attention_mask"])'
    assert (finding.code, finding.name) == ("TRL005", "ragged-gather")
    assert finding.message == (
        "`gather` gets a tensor whose shape differs between ranks: on several processes gloo aborts, "
        "nccl hangs or mixes up the ranks' values"
    )
    assert [step.text for step in finding.because] == [
        "`inputs` is this rank's own data",
        "this rank's batch is padded to its own longest sample",
    ]
    assert "pad_across_processes" in finding.help


FOUND = "the number of elements that are not zero depends on this rank's data"


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("torch.nonzero(mask + 1).shape[0]", FOUND),
        ("(mask + 1).nonzero().size(0)", FOUND),
        ("ids[ids > 3].shape[0]", "a mask selects a number of elements that depends on this rank's data"),
        ("mask.shape[1]", "this rank's batch is padded to its own longest sample"),
    ],
)
def test_the_reason_is_that_of_the_size(size, reason):
    finding = SNIPPETS.finding(step(f"gather(torch.zeros({size}).to(ids.device) + logits.sum())"))
    assert finding.because[-1].text == reason


@pytest.mark.parametrize(
    "call",
    [
        "self.accelerator.gather(logits)",
        "self.accelerator.gather_for_metrics((logits.mean(), ids))",
        'self.accelerator.gather({"ids": ids})',
        "self.accelerator.reduce(ids)",
        "self._nested_gather(logits.argmax(-1))",
        "torch.distributed.all_reduce(ids)",
        "torch.distributed.all_gather([torch.zeros_like(ids)] * 2, ids)",
        "self.accelerator.gather(ids[mask.bool()])",
        "self.accelerator.gather(torch.nonzero(mask))",
        "self.accelerator.gather(self.model.generate(ids))",
        "self.accelerator.gather(self.accelerator.pad_across_processes(ids))",
        "gather(logits[:, :-1].logsumexp(-1))",
    ],
)
def test_tensors_of_other_shapes_are_reported(call: str):
    assert len(SNIPPETS.findings(step(f"x = {call}"))) == 1


@pytest.mark.parametrize(
    "call",
    [
        "self.accelerator.gather(logits.mean())",
        "self.accelerator.gather(mask.sum(1))",
        "self.accelerator.gather(mask.float().mean(dim=-1, keepdim=True))",
        "self.accelerator.gather(torch.stack([mask.sum(), mask.max()]))",
        "self.accelerator.gather(self.accelerator.pad_across_processes(ids, dim=1))",
        "self.accelerator.gather_for_metrics([ids], use_gather_object=True)",
        "self.accelerator.gather(logits[:, -1])",
        'self.accelerator.gather(inputs["scores"])',
        'self.accelerator.gather(inputs["labels"])',
        "self.accelerator.pad_across_processes(ids, dim=1)",
        "self.accelerator.gather(self.accelerator.gather(mask.sum(1))[mask.sum() > 0])",
        "self.accelerator.gather(helper(ids))",
    ],
)
def test_tensors_of_one_shape_and_unknown_ones_are_not(call: str):
    assert SNIPPETS.findings(step(f"x = {call}")) == []


def test_a_file_that_pads_to_one_length_has_no_ragged_batches():
    text = step("x = self.accelerator.gather(ids)")
    assert SNIPPETS.findings(text)
    assert not SNIPPETS.findings(text + '\ndef encode(tokenizer, rows):\n    tokenizer(rows, padding="max_length")\n')
    assert SNIPPETS.findings(text + '\n# not with padding="max_length"\n')


_DATA = """
from torch.nn.utils.rnn import pad_sequence


class Collator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def __call__(self, rows):
        return {"input_ids": self.tokenizer(rows, padding=PADDING)}


class Other(Collator):
    pass


def collate(rows):
    return {"input_ids": pad_sequence(rows)}


def encode(row, tokenizer):
    return tokenizer(row["text"], padding=PADDING)


def make_data(kind):
    if kind:
        collator = Collator(kind)
    else:
        collator = Other(kind)
    return {"data": [1, 2], "collator": collator}
"""
_LOOP = """
from functools import partial

from accelerate import Accelerator
from datasets import load_dataset
from torch.utils.data import DataLoader

from data import Collator, collate, encode, make_data


def main(tokenizer, rows, model):
    accelerator = Accelerator()
    {loader}
    loader = accelerator.prepare(loader)
    for step, batch in enumerate(loader):
        accelerator.gather(batch["input_ids"])
"""


@pytest.mark.parametrize(
    ("arguments", "is_reported"),
    [
        ("batch_size=8", False),
        ("args.batch_size, True", False),
        ("batch_size=8, collate_fn=None", False),
        ("batch_size=1", True),
        ("batch_size=None", True),
        ("shuffle=True", True),
        ("batch_size=8, collate_fn=collate", True),
        ("8, True, None, None, 0, collate", True),
        ("batch_size=8, **settings", True),
    ],
)
def test_rows_that_torch_stacks_are_of_one_length(arguments, is_reported, tmp_path):
    loop = _LOOP.replace("{loader}", f"loader = DataLoader(rows, {arguments})") + "\n\npadding = tokenizer.pad(rows)\n"
    (tmp_path / "data.py").write_text(_DATA.replace("PADDING", "True"))
    (tmp_path / "train.py").write_text(loop)
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL005"),))
    assert bool(linter.check(tmp_path / "train.py", loop.encode())) is is_reported


@pytest.mark.parametrize(
    "loader",
    [
        "loader = DataLoader(rows, collate_fn=Collator(tokenizer))",
        "loader = DataLoader(rows, collate_fn=collate)",
        "loader = DataLoader(rows, collate_fn=partial(collate, 1))",
        "loader = DataLoader(load_dataset('x').map(encode))",
        "loader = DataLoader(load_dataset('x').map(encode).filter(len))",
        "made = make_data(tokenizer)\n    loader = DataLoader(rows, collate_fn=made['collator'])",
        "made = make_data(tokenizer)\n    kept = made['data']\n    loader = DataLoader(kept)",
    ],
)
def test_batches_are_as_long_as_the_file_makes_them_that_pads_them(tmp_path, loader):
    def findings(loop: str, padding: str) -> list:
        (tmp_path / "data.py").write_text(_DATA.replace("PADDING", padding))
        path = tmp_path / "train.py"
        path.write_text(loop)
        return Linter(SETTINGS, (tmp_path,), (find_rule("TRL005"),)).check(path, loop.encode())

    loop = _LOOP.replace("{loader}", loader)
    assert findings(loop, "True")
    assert not findings(loop, '"max_length"')
    assert not findings(_LOOP.replace("{loader}", "loader = DataLoader(rows, collate_fn=str)"), "True")
    moved = loop.replace(
        "batch in enumerate(loader):",
        "rows in enumerate(loader):\n        batch = {key: field.to(model.device) for key, field in rows.items()}",
    )
    assert findings(moved, "True")
    assert not findings(moved, '"max_length"')


@pytest.mark.parametrize(
    ("made", "speaks"),
    [
        ("Mine(model, data_collator=Collator(tokenizer), train_dataset=rows)", False),
        ("Mine(model, **make_data(tokenizer))", False),
        ("Mine(model, data_collator=rows.collate, train_dataset=rows)", True),
    ],
)
def test_the_hooks_of_a_trainer_get_the_batches_of_what_it_is_given(tmp_path, made, speaks):
    (tmp_path / "data.py").write_text(_DATA.replace("PADDING", '"max_length"'))
    (tmp_path / "train.py").write_text(
        "from data import Collator, make_data\nfrom transformers import set_seed\nfrom mine import Mine\n\n\n"
        f"def main(tokenizer, rows, model):\n    trainer = {made}\n    trainer.train()\n"
        "    trainer.accelerator.gather(rows)\n"  # for this line the file is read at all
    )
    text = trainer(
        "def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
        '    self.accelerator.gather(inputs["input_ids"])\n    return model(**inputs).loss\n'
    )
    text = text.replace("MyTrainer", "Mine")
    (tmp_path / "mine.py").write_text(text)
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL005",), preview=True))
    assert bool(findings) is speaks


def test_logits_of_samples_and_of_an_unknown_model_are_left_alone():
    text = step("x = self.accelerator.gather(logits)").replace(", logits_to_keep=0", "")
    assert not SNIPPETS.findings(text)
    assert SNIPPETS.findings(text + "\nfrom transformers import AutoModelForCausalLM\n")
    assert not SNIPPETS.findings(text + "\nfrom transformers import AutoModelForSequenceClassification\n")
    assert SNIPPETS.findings(text.replace("gather(logits)", "gather(logits[..., :-1, :])"))


def test_the_shape_is_followed_into_a_helper():
    text = step("x = self.collect(ids)") + (
        "\n    def collect(self, value):\n        return self.accelerator.gather(value)\n"
    )
    assert shown(text, SNIPPETS.finding(text)) == "self.accelerator.gather(value)"


@pytest.mark.parametrize(
    ("before", "after", "level"),
    [
        ("gather(ids).sum().item()", "gather(ids.sum()).sum().item()", SAFE),
        ("gather(logits).detach().max()", "gather(logits.max()).detach().max()", SAFE),
        ("gather(logits).mean()", "gather(logits.mean()).mean()", UNSAFE),
        ("gather(ids != 0).float().mean()", "gather((ids != 0).float().mean()).float().mean()", UNSAFE),
        ("torch.sum({}(ids))", "torch.sum({}(ids.sum()))", SAFE),
        ("gather(ids)", "gather(self.accelerator.pad_across_processes(ids, dim=1))", UNSAFE),
        ("gather(ids[mask.bool()])", "gather(self.accelerator.pad_across_processes(ids[mask.bool()], dim=0))", UNSAFE),
        ("gather(ids).sum(1)", "gather(self.accelerator.pad_across_processes(ids, dim=1)).sum(1)", UNSAFE),
        ("gather((ids, mask))", None, DISPLAY),
        ("gather(self.accelerator.pad_across_processes(ids))", None, DISPLAY),
        ("reduce(ids)", None, DISPLAY),
    ],
)
def test_fixes(before: str, after: str | None, level: Applicability):
    def written(call: str) -> str:
        return step("x = " + (call.format("self.accelerator.gather") if "{}" in call else f"self.accelerator.{call}"))

    text = written(before)
    finding = SNIPPETS.finding(text)
    assert (finding.fix.applicability if finding.fix else DISPLAY) is level
    assert (SNIPPETS.mended(text) != text) is (level is SAFE)
    assert SNIPPETS.mended(text, unsafe=True) == (text if after is None else written(after))


# Uses of a gathered `g` in which padding would be counted, or may be.
COUNTED = [
    "x = g.mean()", "x = g.mean(1)", "x = g.std()", "x = g.var()", "x = g.median()", "x = g.numel()", "x = len(g)",
    "x = g.shape[0]", "x = g.size(1)", "x = g.sum(1) / n", "x = g.sum(1)\nx = x / n", "x = g.sum(1)\nx /= n",
    "x = torch.mean(g)", "x = torch.std(g)", "x = np.mean(g.cpu().numpy())", "h = g.cpu()\nx = h.float().mean()",
    "h = g.float()\nk = h\nx = torch.median(k)", "x = g.argmax(1)", "x = g.max(1)", "x = g.sum(0).mean()",
    "x = g\nx = x.mean()", "return g", "self.x = g", "self.xs.append(g)", "x = [g]", "x = helper(g)",
    "for row in g:\n    print(row)", "print(g)", "x = g[:, 0]", "x = g[g > 0].mean()", "x = g[g != n].mean()",
    "if mask.sum() > 3:\n    g = mask\nx = g.sum(1)",
]  # fmt: skip


@pytest.mark.parametrize("uses", COUNTED)
def test_nothing_is_padded_where_the_padding_may_be_counted(uses: str):
    text = step(f"n = 3\ng = self.accelerator.gather(ids)\n{uses}")
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY
    assert SNIPPETS.mended(text, unsafe=True) == text


@pytest.mark.parametrize(
    "use", ["std()", "var()", "median()", "mean(1)", "numel()", "shape[0]", "tolist()", "sum(1) / 3"]
)
def test_nothing_is_padded_for_what_is_done_at_once(use: str):
    text = step(f"x = self.accelerator.gather(ids).{use}")
    assert SNIPPETS.mended(text, unsafe=True) == text


@pytest.mark.parametrize(
    ("uses", "argument"),
    [
        ("x = g.sum(1)", "dim=1"),
        ("x = g.sum(dim=1).float().mean()", "dim=1"),
        ("x = torch.sum(g.cpu(), 1)", "dim=1"),
        ("h = g.cpu()\nx = h.sum(1)", "dim=1"),
        ("x = g[g != 0].float().mean()", "dim=1"),
        ("x = g[g != -100].float().mean()", "dim=1, pad_index=-100"),
        ("h = g.cpu()\nx = h[h != 3].tolist()", "dim=1, pad_index=3"),
    ],
)
def test_what_is_left_out_of_every_use_is_padded(uses: str, argument: str):
    text = step(f"g = self.accelerator.gather(ids)\n{uses}")
    padded = f"self.accelerator.gather(self.accelerator.pad_across_processes(ids, {argument}))"
    assert SNIPPETS.finding(text).fix.applicability is UNSAFE
    assert SNIPPETS.mended(text, unsafe=True) == text.replace("self.accelerator.gather(ids)", padded)


def test_uses_that_want_different_padding_get_none():
    text = step("g = self.accelerator.gather(ids)\nx = g.sum(1)\ny = g[g != -100].float().mean()")
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_a_name_that_is_only_reduced_holds_what_was_reduced_before():
    text = step("g = self.accelerator.gather(ids)\nx = g.max()\ny = g.max().item()")
    assert SNIPPETS.mended(text) == text.replace("gather(ids)", "gather(ids.max())")
    both = text.replace("y = g.max()", "y = g.min()")
    assert SNIPPETS.mended(both, unsafe=True) == both


def test_the_help_says_how_to_do_it_right():
    finding = SNIPPETS.finding(step("g = self.accelerator.gather(ids)\nx = g.std()"))
    assert finding.fix.reason == "the code after it would count the padding"
    assert "add up its sum and its count" in finding.help


def test_under_a_condition_on_the_data_there_is_a_hint():
    text = step("if mask.sum() > 3:\n    x = self.accelerator.gather(ids).sum()")
    assert SNIPPETS.finding(text)
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_the_padding_of_a_library_that_is_linted_itself_is_known(tmp_path):
    """In trl's own tree the source of `pad` is available, and its body says nothing about the length."""
    utils = tmp_path / "trl" / "trainer" / "utils.py"
    utils.parent.mkdir(parents=True)
    for folder in (utils.parent, utils.parent.parent):
        (folder / "__init__.py").touch()
    utils.write_text(
        "import numpy as np\nimport torch\n\n\n"
        "def pad(tensors, padding_value=0):\n"
        "    shape = np.max([tensor.shape for tensor in tensors], 0).tolist()\n"
        "    output = torch.full((len(tensors), *shape), padding_value)\n"
        "    for row, tensor in enumerate(tensors):\n        output[row] = tensor\n"
        "    return output\n"
    )
    path = utils.with_name("mine.py")
    text = trainer(
        "def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
        '    ids = pad([torch.tensor(ids) for ids in inputs["ids"]])\n'
        "    self.accelerator.gather(ids)\n"
    )
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL005"),))
    assert linter.check(path, f"from .utils import pad\n{text}".encode())
    assert not linter.check(path, f"from .utils import pad as other\nfrom mine import pad\n{text}".encode())
