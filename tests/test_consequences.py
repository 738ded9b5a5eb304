"""Consequences of findings: selecting by them, the default set, and one finding for one cause."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint import check
from trl_lint.config import selection
from trl_lint.findings import Consequence, Finding
from trl_lint.frontends.cli import main
from trl_lint.rules import all_rules
from trl_lint.settings import ConfigError, Settings

HEAD = """\
import os
import torch
import torch.distributed as dist
from accelerate import Accelerator
accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(make_model(), make_optimizer(), make_loader())
"""
PROGRAM = (
    HEAD
    + """\
for batch in loader:
    loss = model(**batch).loss
    accelerator.log({"loss": loss.item()})
    accelerator.log({"accuracy": batch["right"].float().mean()})
    accelerator.backward(loss)
    if accelerator.is_main_process:
        accelerator.gather(loss)
os.mkdir("out")
torch.save(accelerator.unwrap_model(model).state_dict(), "out/model.pt")
accelerator.unwrap_model(model).save_pretrained("out")
"""
)
LOSS, ACCURACY, GATHER, FOLDER, FILE, SAME_MODEL = 9, 10, 13, 14, 15, 16
WORDS = {
    ACCURACY: "wrong-number",
    FILE: "race",
    FOLDER: "crash",
    GATHER: "deadlock",
    LOSS: "wrong-number",
    SAME_MODEL: "waste",
}


def findings(folder: Path, text: str, **settings: tuple[str, ...]) -> list[Finding]:
    path = folder / "train.py"
    path.write_text(text)
    return check(path, Settings(root=folder, **settings))


def lines(folder: Path, text: str, **settings: tuple[str, ...]) -> list[int]:
    return [each.start.line for each in findings(folder, text, **settings)]


def test_each_finding_says_what_comes_of_it(tmp_path: Path):
    assert {each.start.line: each.consequence.value for each in findings(tmp_path, PROGRAM, select=("ALL",))} == WORDS


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [ACCURACY, GATHER, FOLDER, FILE]),
        ({"select": ("DEFAULT",)}, [ACCURACY, GATHER, FOLDER, FILE]),
        ({"select": ("ALL",)}, sorted(WORDS)),
        ({"select": ("deadlock", "crash")}, [GATHER, FOLDER]),
        ({"select": ("DeadLock",)}, [GATHER]),
        ({"select": ("wrong-number",)}, [LOSS, ACCURACY]),
        ({"extend_select": ("waste",)}, [ACCURACY, GATHER, FOLDER, FILE, SAME_MODEL]),
        ({"extend_select": ("TRL003",)}, [LOSS, ACCURACY, GATHER, FOLDER, FILE]),
        ({"select": ("TRL008",)}, [FOLDER, FILE, SAME_MODEL]),
        ({"select": ("TRL008",), "ignore": ("waste",)}, [FOLDER, FILE]),
        ({"select": ("waste", "race"), "ignore": ("TRL0",)}, [FILE, SAME_MODEL]),
        ({"select": ("ALL",), "ignore": ("DEFAULT",)}, [LOSS, SAME_MODEL]),
    ],
)
def test_consequences_are_selected_as_codes_are(settings: dict, expected: list[int], tmp_path: Path):
    assert lines(tmp_path, PROGRAM, **settings) == expected


def test_per_file_ignores_take_consequences(tmp_path: Path):
    ignores = (("train.py", ("crash", "TRL003")),)
    assert lines(tmp_path, PROGRAM, per_file_ignores=ignores) == [GATHER, FILE]


@pytest.mark.parametrize(
    ("word", "meant"), [("deadlok", "deadlock"), ("wrong_number", "wrong-number"), ("defalt", "DEFAULT")]
)
def test_a_misspelled_consequence_is_named(word: str, meant: str):
    with pytest.raises(ConfigError, match=f"unknown rule `{word}`; did you mean `{meant}`"):
        selection(Settings(select=(word,)))


def test_only_rules_with_such_findings_run():
    assert [rule.code for rule in selection(Settings(select=("deadlock",))).rules] == [
        "TRL005",
        "TRL006",
        "TRL010",
        "TRL016",
        "TRL017",
    ]


def test_every_rule_says_what_may_come_of_it():
    assert all(rule.consequences and set(rule.consequences) <= set(Consequence) for rule in all_rules())


def shown(folder: Path, *options: str) -> str:
    """The output, as text unless the options choose otherwise."""
    chosen = ["--isolated", "--no-cache", "--output-format=text", *options]
    return CliRunner().invoke(main, [*chosen, str(folder / "train.py")]).stdout


def test_reports_show_it(tmp_path: Path):
    (tmp_path / "train.py").write_text(PROGRAM)
    assert f"train.py:{FOLDER}:1: TRL008 [crash] unguarded-side-effect: `os.mkdir`" in shown(tmp_path)
    concise = shown(tmp_path, "--output-format=concise", "--select=deadlock")
    assert f"train.py:{GATHER}:9: TRL006 [deadlock] divergent-collective: only ranks where `" in concise
    rows = json.loads(shown(tmp_path, "--output-format=json", "--ignore=race,deadlock"))
    assert [each["consequence"] for each in rows] == ["wrong-number", "crash"]


def test_a_fix_leaves_alone_what_is_not_selected(tmp_path: Path):
    (tmp_path / "train.py").write_text(PROGRAM)
    said = shown(tmp_path, "--diff", "--unsafe-fixes")
    assert '-    accelerator.log({"accuracy"' in said
    assert '-    accelerator.log({"loss"' not in said
    assert "save_pretrained" not in [line for line in said.splitlines() if line.startswith("+")]


# --- the default set ------------------------------------------------------------------------------------

# What a loss is multiplied with: numbers and settings, and what comes from data.
FACTORS = ["cfg.weight", "self.args.loss['weight']", "0.5", "-1.0", "min(1.0, step / cfg.warm_up)", "WEIGHT"]
FACTORS += ["torch.tensor(cfg.weight)", "weight", "(1 - weight)", "cfg.weight / 4"]
NO_FACTORS = ["batch['weight']", "weights", "model.weight", "aux(batch)", "(1 - batch['weight'])", "scale"]
LOGS_PART = 'accelerator.backward(loss)\naccelerator.log({"x": rec.item()})'
SCALED = "rec = loss\nweight = cfg.weight ** 2\nweights = aux(batch)\nloss = %s * rec\n"
LOSSES = "losses = model(**batch).losses\n"
LOOP = HEAD + "total = 0\nfor step, batch in enumerate(loader):\n    loss = model(**batch).loss\n"


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ('accelerator.backward(loss)\naccelerator.log({"loss": loss.detach().item(), "step": step})', False),
        (
            'total += loss.detach().float()\naccelerator.backward(loss)\naccelerator.log({"x": total / (step + 1)})',
            False,
        ),
        ('loss = loss / 4\nloss.backward()\ncurrent = loss.item()\naccelerator.log({"x": current})', False),
        ('accelerator.backward(loss)\naccelerator.log({"x": loss - batch["y"].float().mean()})', True),
        ('other = batch["y"].float().mean()\naccelerator.backward(loss + other)\naccelerator.log({"x": other})', True),
        (
            LOSSES + 'accelerator.backward(losses.mean())\naccelerator.log({"x": losses.mean().item()})',
            False,
        ),
        (
            LOSSES + 'accelerator.backward(losses.sum() / 4)\naccelerator.log({"x": losses.max().item()})',
            False,
        ),
        (
            LOSSES + 'accelerator.backward(pick(losses))\naccelerator.log({"x": losses.mean().item()})',
            True,
        ),
        ('accelerator.log({"loss": loss.item()})', True),
        (
            LOSSES + "loss, place = losses.max(0)\naccelerator.backward(loss)\naccelerator.log(dict(x=loss.item()))",
            False,
        ),
        (
            LOSSES + 'loss, [kl, _] = losses.max(0)\naccelerator.backward(loss)\naccelerator.log({"x": kl.item()})',
            True,
        ),
        (
            'kl, loss = batch["kl"].mean(), loss\naccelerator.backward(loss)\naccelerator.log({"kl": kl.item()})',
            True,
        ),
        (
            'kl, loss = loss.max(), loss\naccelerator.backward(loss)\naccelerator.log({"loss": loss.item()})',
            False,
        ),
        *((SCALED % factor + LOGS_PART, False) for factor in FACTORS),
        *((SCALED % factor + LOGS_PART, True) for factor in NO_FACTORS),
        ("rec = loss\nloss = cfg.weight * rec + cfg.other * aux(batch)\n" + LOGS_PART, True),
        ("rec = loss\nloss = cfg.weight * (rec + aux(batch))\n" + LOGS_PART, True),
        ("rec = loss\nloss = rec\nloss *= cfg.weight\n" + LOGS_PART, False),
        ("rec = loss\nif step:\n    loss = 2 * rec\nelse:\n    loss = cfg.weight * rec\n" + LOGS_PART, False),
    ],
)
def test_the_bare_training_loss_has_to_be_asked_for(body: str, is_reported: bool, tmp_path: Path):
    text = LOOP + "".join(f"    {line}\n" for line in body.split("\n"))
    assert bool(findings(tmp_path, text)) is is_reported
    assert findings(tmp_path, text, select=("TRL003",))


def test_the_loss_of_an_evaluation_is_reported(tmp_path: Path):
    text = LOOP + (
        "    accelerator.backward(loss)\n"
        "for batch in loader:\n"
        "    loss = model(**batch).loss\n"
        '    accelerator.log({"eval_loss": loss.item()})\n'
    )
    assert lines(tmp_path, text) == [13]


EVALUATED = """\
def evaluate(any, loader):
    return torch.stack([batch["right"].float().mean() for batch in loader]).mean()
def train(accelerator, writer, model, loader, losses):
    for batch in loader:
        loss = model(**batch).loss
        accelerator.backward(loss)
        {}
        score = {}
        accelerator.log({{"x": score.item()}})
train(accelerator, SummaryWriter(), model, loader, [])
"""


@pytest.mark.parametrize(
    ("before", "call", "is_reported"),
    [
        ("accelerator.print(loss.item())", "evaluate(accelerator, loader)", True),
        ("writer.add_scalar('loss', loss.item())", "evaluate(writer, loader)", True),
        # What is added to a list is a part of what follows from it.
        ("losses.append(loss)", "torch.stack(losses).mean()", False),
    ],
)
def test_an_object_that_shows_the_loss_or_goes_back_from_it_holds_none(before, call, is_reported, tmp_path: Path):
    text = HEAD + EVALUATED.format(before, call)
    assert bool([each for each in findings(tmp_path, text) if "`x`" in each.message]) is is_reported


# --- one cause, one finding -----------------------------------------------------------------------------

DEVICES = HEAD + 'rank = dist.get_rank()\ntorch.cuda.set_device(rank)\na = b.to(f"cuda:{rank}")\nc = d.to(rank)\n'


def test_a_rank_used_as_a_device_is_one_finding(tmp_path: Path):
    (found,) = findings(tmp_path, DEVICES, select=("TRL011",))
    assert found.start.line == 8
    assert [each.start.line for each in found.also] == [9, 10]
    assert found.headline.endswith("(and 2 more places)")
    assert not findings(tmp_path, DEVICES)


def test_its_other_places_are_listed(tmp_path: Path):
    (tmp_path / "train.py").write_text(DEVICES)
    text = shown(tmp_path, "--select=TRL011")
    assert "also: the same (" in text
    assert "also: the global rank is used as a GPU index (`" in text
    (row,) = json.loads(shown(tmp_path, "--select=TRL011", "--output-format=json"))
    assert [each["location"]["row"] for each in row["also"]] == [9, 10]


MEANS = """\
from transformers import Trainer

class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        mask = inputs["labels"] != -100
        kl = (inputs["kl"] * mask).sum() / mask.sum()
        self.log({"kl": self.accelerator.gather_for_metrics(kl).mean().item()})
        return model(**inputs).loss
"""


def test_a_truncated_gather_inside_of_a_mean_of_means_is_told_with_it(tmp_path: Path):
    (found,) = findings(tmp_path, MEANS, select=("TRL007", "TRL014"))
    assert (found.code, [each.code for each in found.also]) == ("TRL007", ["TRL014"])
    assert found.headline.endswith("(also TRL014)")
    (alone,) = findings(tmp_path, MEANS, select=("TRL014",))
    assert (alone.code, alone.also) == ("TRL014", ())


def test_both_arms_of_a_condition_are_reported(tmp_path: Path):
    text = LOOP + (
        "    if accelerator.is_main_process:\n"
        "        accelerator.gather(loss)\n"
        "    else:\n"
        "        accelerator.reduce(loss)\n"
    )
    assert lines(tmp_path, text) == [11, 13]
