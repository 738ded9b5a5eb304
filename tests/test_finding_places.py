"""The place of a finding: an expression or a line that its reader can act on, never a whole block."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import libcst as cst
import pytest
from test_fixtures import ENGINES, TREES

from trl_lint.analysis.program.syntax import ancestors, below
from trl_lint.linter.linter import Linter
from trl_lint.linter.locate import positions
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parent.parent / "fixtures"
SETTINGS = Settings(target_trl="0.17.0", target_transformers="4.51.3")


def reported(path: Path, source: bytes):
    linter = Linter(SETTINGS, (path.parent,), all_rules())
    linter.trees = TREES
    if FIXTURES in path.parents:
        linter.engines = ENGINES.setdefault(path.parent, linter.engines)
    return linter.report(path, source)


def check_range(found) -> None:
    """A finding does not start at a class, and spans no statement of a block below its own."""
    violation, finding = found.violation, found.finding
    places = positions(violation.module)
    assert not isinstance(violation.node, (cst.ClassDef, cst.Module)), finding
    for node in below(violation.module.tree):
        if isinstance(node, (cst.BaseCompoundStatement, cst.ExceptHandler)):
            first = next((each for each in below(node) if isinstance(each, cst.BaseSuite)), None)
            if first is None or not first.body:
                continue
            start = places[first.body[0]].start
            begin = places[node].start
            before = (finding.start.line, finding.start.column - 1) <= (begin.line, begin.column)
            covers = (finding.end.line, finding.end.column - 1) > (start.line, start.column)
            around = node in (*ancestors(violation.module.tree, violation.node), violation.node)
            assert not (before and covers and around), (finding, type(node))


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.glob("*/broken*.py")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_no_finding_of_a_fixture_spans_a_block(path: Path) -> None:
    for found in reported(path, path.read_bytes()):
        check_range(found)


TRAINER = """\
from trl import GRPOTrainer


class Mine(GRPOTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = super().compute_loss(model, inputs, return_outputs)
        mask = inputs["completion_mask"]
{body}
        return loss
"""


def in_trainer(body: str):
    text = TRAINER.format(body=indent(dedent(body).strip("\n"), " " * 8))
    lines = text.splitlines()
    found = reported(FIXTURES / "snippet.py", text.encode())
    for each in found:
        check_range(each)
    spans = [each.finding for each in found]
    return [(each.code, lines[each.start.line - 1][each.start.column - 1 :], each.end.line) for each in spans]


@pytest.mark.parametrize(
    "write",
    [
        'self._metrics["train"]["b"].append(self.accelerator.gather(mask.sum()).sum().item())',
        'self._metrics["train"]["b"].append(1.0)',
        'self._metrics["train"]["b"] += [self.accelerator.gather(mask.sum()).sum().item()]',
        'self._metrics["train"]["b"].extend([self.accelerator.gather(mask.sum()).sum().item()])',
    ],
)
def test_a_metric_that_only_some_ranks_store_is_reported_where_they_do(write) -> None:
    found = in_trainer(f"""
        self._metrics["train"]["b"].append(0.5)
        if mask.any():
            {write}
    """)
    assert all(line == 10 for _, _, line in found)
    assert [text for code, text, _ in found if code == "TRL003"] == [write]


def test_what_follows_from_a_gather_of_some_ranks_stands_at_its_own_statement() -> None:
    found = in_trainer("""
        self._metrics["train"]["a"].append(self.accelerator.gather(mask.sum()).sum().item())
        if mask.any():
            self._metrics["train"]["b"].append(self.accelerator.gather(mask.sum()).sum().item())
    """)
    assert [(code, line) for code, _, line in found] == [("TRL003", 10), ("TRL006", 10)]


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("except RuntimeError:\n    pass", "except RuntimeError"),
        ("except:\n    pass", "except"),
        ("except (RuntimeError, KeyError) as error:\n    pass", "except (RuntimeError, KeyError) as error"),
        ("except RuntimeError:\n    return loss", "return"),
    ],
)
def test_a_finding_at_an_except_clause_ends_before_its_block(body, ends) -> None:
    tried = "try:\n    out = model(**inputs).loss\n    out.backward()\n"
    text = TRAINER.format(body=indent(tried + body, " " * 8))
    (found,) = (each for each in reported(FIXTURES / "snippet.py", text.encode()) if each.finding.code == "TRL006")
    check_range(found)
    line = text.splitlines()[found.finding.start.line - 1]
    assert line[found.finding.start.column - 1 : found.finding.end.column - 1] == ends


def test_what_a_batch_holds_is_no_metric_for_being_kept_on_the_trainer() -> None:
    text = """
from trl import GRPOTrainer


class Mine(GRPOTrainer):
    def _prepare_inputs(self, inputs):
        ids = inputs["prompt_ids"].to(self.accelerator.device)
        self._buffered = {"prompt_ids": ids}
        return self._buffered

    def _note(self, value):
        self._metrics["train"]["distance"].append(value)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        logits = model(inputs["completion_ids"]).logits
        kept = self._buffered["prompt_ids"]
        distance = (logits - kept).abs().mean()
        self._note(distance.item())
        return distance
"""
    found = [each.finding for each in reported(FIXTURES / "snippet.py", text.encode())]
    lines = text.splitlines()
    assert [(each.code, lines[each.start.line - 1].strip()) for each in found] == [
        ("TRL003", "self._note(distance.item())")
    ]
