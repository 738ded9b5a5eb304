"""How the mutation benchmark evaluates fixes, on small trainers and without the index."""

from types import SimpleNamespace

import pytest

from evaluation import mending, mutation
from evaluation.mending import Mended, Original, level_of, reasons_of
from evaluation.mutation import Bench, Plan, Result, build, plan_of
from evaluation.neutral import STEPS
from evaluation.operators import OPERATORS, sites_of
from evaluation.source import Source
from trl_lint.findings import Applicability, Finding, Fix, Position

BY_NAME = {operator.name: operator for operator in OPERATORS}
DROP, ITEM = BY_NAME["drop the collective"], BY_NAME["item inside the gather"]
RIGHT = """import torch
from transformers import Trainer


class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.log({"kl": self.accelerator.gather(loss.detach()).mean()})
        return loss
"""
NUMBER = RIGHT.replace(".mean()})", ".mean().item()})")


def mended(tmp_path, operator, step: str, text: str) -> Mended:
    """The result of fixing the one mutant of a text."""
    path = tmp_path / "mine.py"
    path.write_text(text)
    bench = Bench(SimpleNamespace(root=tmp_path))
    source = Source(path, text)
    before = [finding for _, finding in bench.lint({path: text})]
    (site,) = sites_of(operator, source, "mine.py")[0]
    mutant = build(source, operator, site, step)
    after = bench.lint(mutant.texts)
    assert any(finding.code == operator.rule for _, finding in after)
    return bench.mend(mutant, after, Original(bench.linter, path, text, before))


@pytest.mark.parametrize("step", STEPS)
def test_a_metric_that_is_a_tensor_is_gathered_again(tmp_path, step):
    result = mended(tmp_path, DROP, step, RIGHT)
    assert (result.level, result.reasons, result.left) == ("safe", [], [])
    assert (result.identical, result.equal) == (False, True)
    assert any(line.startswith("+ ") and ".gather(" in line for line in result.change)


@pytest.mark.parametrize("step", STEPS)
def test_a_number_is_taken_out_of_the_gather_again(tmp_path, step):
    result = mended(tmp_path, ITEM, step, NUMBER)
    assert (result.left, result.equal) == ([], True)


def test_the_original_to_the_byte(tmp_path):
    text = NUMBER.replace("loss.detach()", "loss.detach().mean()")
    result = mended(tmp_path, ITEM, "none", text)
    assert (result.level, result.identical, result.equal) == ("safe", True, True)


def test_what_is_only_hinted_at_has_a_reason(tmp_path):
    result = mended(tmp_path, DROP, "none", NUMBER.replace(".mean().item()", ".std().item()"))
    assert (result.level, result.equal, len(result.reasons)) == ("hint", False, 1)
    assert result.reasons[0].startswith("hint: ")


def test_a_fix_that_leaves_its_finding_is_withheld_and_counts_as_such(tmp_path, monkeypatch):
    transformed = "trl_lint.linter.rewriting.fixing.transformed"
    monkeypatch.setattr(transformed, lambda fixes: fixes[0].violation.module.tree.code)
    result = mended(tmp_path, DROP, "none", RIGHT)
    assert (result.level, result.equal) == ("withheld", False)
    assert [reason.startswith("withheld: ") for reason in result.reasons] == [True]
    assert result.left == [8]


def test_the_original_has_its_own_findings_mended_too(tmp_path):
    text = RIGHT.replace("        return loss\n", '        self.log({"x": loss.mean()})\n        return loss\n')
    result = mended(tmp_path, DROP, "none", text)
    assert (result.level, result.equal) == ("safe", True)


def finding(applicability: Applicability | None, reason: str = "") -> Finding:
    fix = Fix(applicability, "Mend", reason=reason) if applicability else None
    return Finding("TRL003", "name", "message", "x.py", Position(1, 1), Position(1, 2), fix=fix)


SAFE, UNSAFE = finding(Applicability.SAFE), finding(Applicability.UNSAFE, "why")
HINT, NONE = finding(Applicability.DISPLAY, "what"), finding(None)


@pytest.mark.parametrize(
    ("findings", "level", "reasons"),
    [
        ([SAFE, SAFE], "safe", []),
        ([SAFE, UNSAFE], "unsafe", ["unsafe: why"]),
        ([UNSAFE, HINT], "hint", ["unsafe: why", "hint: what"]),
        ([NONE], "hint", [mending.NO_FIX]),
    ],
)
def test_a_mutant_is_as_well_mended_as_its_worst_finding(findings, level, reasons):
    assert (level_of(findings), reasons_of(findings)) == (level, reasons)


def result(operator=DROP, *, level: str = "safe", equal: bool = True, left=(), found: bool = True) -> Result:
    made = Mended(level, [] if level == "safe" else ["hint: why"], list(left), equal, equal) if found else None
    return Result(operator.name, "none", "c", "f", 1, "s", "x", found, mended=made)


GOOD = [result() for _ in range(7)]
OTHER = result(equal=False)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (GOOD, True),
        ([*GOOD, OTHER, OTHER, OTHER], True),
        ([*GOOD, OTHER, OTHER, OTHER, OTHER], False),
        # Mutants without a safe fix, those that were not found, and those of other operators do not count.
        ([*GOOD, *[result(level="hint", equal=False)] * 9], True),
        ([*GOOD, *[result(found=False)] * 9], True),
        ([*GOOD, *[result(BY_NAME["helper returns local"], equal=False)] * 9], True),
        # A safe fix never leaves its finding.
        ([*GOOD, result(left=[3])], False),
        ([*GOOD, result(BY_NAME["helper returns local"], left=[3])], False),
        ([*GOOD, result(level="unsafe", left=[3])], True),
        ([], True),
    ],
)
def test_when_the_fixes_have_passed(results, expected):
    assert mending.passed(results) is expected


def test_the_report_counts_and_names():
    results = [*GOOD, result(equal=False, left=[3]), result(ITEM, level="hint", equal=False), result(found=False)]
    lines = list(mending.report(results, [DROP.name, ITEM.name], ["none"], True))
    text = "\n".join(lines)
    rows = [line.split() for line in text.splitlines()]
    assert [*DROP.name.split(), "8/0/0/0", "8/0/0/0"] in rows
    assert [*ITEM.name.split(), "0/0/1/0", "0/0/1/0"] in rows
    assert [*DROP.name.split(), "safe", "8", "1", "7", "7/8", "(88%)", "7/9", "(78%)"] in rows
    assert "the original again in 7/8 (88%) of the safe fixes," in text
    assert "  7/10 (70%) of all mutants" in text
    assert "  item inside the gather: 1 x hint: why" in text
    assert "drop the collective (none) c f:1: safe, lines [3]" in text
    assert "not the original again: 1" in text


def test_without_fix_nothing_is_mended(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(RIGHT)
    corpus = SimpleNamespace(root=tmp_path, files=[path])
    monkeypatch.setattr(mending, "mend", lambda *arguments: pytest.fail("it was mended"))
    tally = mutation.Tally()
    mutation.run_corpus(corpus, Plan(), tally)
    assert tally.results
    assert all(each.mended is None for each in tally.results)
    assert not any("fixes" in line for line in mutation.report(tally, Plan(), False))


def test_the_steps_can_be_chosen():
    plan = plan_of(mutation.parse_arguments(["--fix", "--steps", "none,helper", "--all"]))
    assert (plan.steps, plan.fix, plan.cap) == (("none", "helper"), True, None)
    assert plan_of(mutation.parse_arguments([])) == Plan()
    assert plan_of(mutation.parse_arguments(["--fix"])).steps == ("none",)
    assert plan_of(mutation.parse_arguments(["--fix", "--steps", "all"])).steps == tuple(STEPS)
