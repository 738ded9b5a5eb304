"""The page `docs/verified.md`, and a short form for the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evaluation.environments import ENVIRONMENTS, TORCH
from evaluation.proof.cases import NOT_RUN, STEPS
from evaluation.proof.facts import Fact
from evaluation.proof.trials import FIXED, RELEASED, UPSTREAM, Column, Trial
from trl_lint.verify.record.verdicts import Outcome, Verdict

PLOT = "verified.svg"
# Ports, and folders of the machine that torch was built on, are of no use to a reader and change from run to run.
NOISE = (
    (re.compile(r"^(rank \d+): (?!was stopped).*\(an echo\)$"), r"\1: loses its connection (an echo)"),
    (re.compile(r"\[enforce fail at [^\]]*/([^/\]]+)\]"), r"[enforce fail at \1]"),
)
Row = tuple[str, str, str, str, str]
Proved = Sequence[tuple[Trial, Sequence[Fact]]]

HEAD = """# Verified on released trainers

The rules of trl-lint come from bugs in TRL's history. Here the released code is run: a small program trains with the
trainer as released, with the trainer after `trl-lint --fix` by the rules of the case, and with the release in which
upstream fixed it. Each runs on {nproc} processes under torchrun, on the CPU, for up to {steps} steps on a tiny random
model. The oracles of `trl-lint verify`, which know nothing of the rules, judge what happens.

The cases of trl 1.16.0 are bugs of that release that are not fixed upstream. There `--fix` stands alone, and one
process provides the reference: it reads the same rows, and must behave the same with the released file and the fixed
one.

*Bare python* is one process with {nproc} emulated GPUs: torch's own `nn.DataParallel` splits the batch, and only
transfers between GPUs are done on the CPU. The fixed launch is
`accelerate launch --multi_gpu --num_processes {nproc}`, which starts as many processes, also on the CPU.

One command writes this page. It builds missing environments, one per release; once they are built it needs no network:

```console
python -m evaluation.verified
```

## Oracles

| oracle | what must hold |
| --- | --- |
| *ends* | every rank runs to its end |
| *same sequence* | all ranks run the same collectives in the same order, with matching shapes |
| *same metric* | logged values are equal on all ranks |
| *true value* | logged values are those of one process on the same global batch |
| *same training* | all ranks end with the same weights |
| *own share* | no two ranks train on the same rows |
| *own device* | every tensor in a collective is on the process's own device (emulated) |
| *one writer* | no file is written by several ranks |
| *whole parameters* | values read from a sharded parameter are those of the whole parameter (none is sharded here) |

✓ passes, ✗ fails, ? could not be judged. What fails as released is the subject of a case. If one process trains
differently, for example because the loss is the mean of each rank's mean over its tokens, *true value* uses
[controlled runs](verify.md#controlled-runs), or is not judged if these are not possible either, for example because
texts are generated at random.
"""


def page(proved: Proved, nproc: int, curve: Fact | None = None) -> str:
    """The whole page, as Markdown. `curve`: the text about the plot, if there is one."""
    parts = [
        HEAD.format(nproc=nproc, steps=STEPS),
        "## Cases\n",
        _table([("case", "release of trl", "as it was", "after `--fix`", UPSTREAM), *map(_row, _trials(proved))]),
        "",
        *(_plot(curve) if curve else ()),
        "## Evidence\n",
        *(_section(trial, facts) for trial, facts in proved),
        "## Not run\n",
        "Of the bugs of trl 1.16.0 in [accuracy.md](accuracy.md):\n",
        *(f"- {what}: {why}." for what, why in NOT_RUN.items()),
        "",
        "## Versions\n",
        _table([("trl", "transformers", "accelerate", "datasets", "peft", "torch"), *_versions(_trials(proved))]),
        "",
    ]
    return "\n".join(parts)


def _plot(curve: Fact) -> Iterator[str]:
    yield "## The curve that a tracker shows\n"
    yield f"![rewards/accuracies as logged and as the mean over the ranks]({PLOT})\n"
    yield f"DPO with 2 pairs per rank and step: on one rank, the accuracy can only be 0, 0.5 or 1. {curve.text}\n"


def _trials(proved: Proved) -> list[Trial]:
    return [trial for trial, _ in proved]


def _row(trial: Trial) -> Row:
    case = trial.case
    release = f"{case.release}, {case.subject}" + (f", with `{case.variation}`" if case.variation else "")
    cells = [_cell(trial.columns.get(label)) for label in (RELEASED, FIXED, UPSTREAM)]
    if UPSTREAM in trial.columns:
        cells[2] = f"{case.upstream}<br>{cells[2]}"
    if case.by_hand:
        cells[1] = f"fixed by hand<br>{cells[1]}"
    if not case.files and not case.is_control and not case.is_launch:
        cells[1] = "no rule for it"
    return (case.name, release, *cells)


def _cell(column: Column | None) -> str:
    if column is None:
        return ""
    lines = [f"✗ *{verdict.oracle}*: {decisive(column, verdict)}" for verdict in column.failed]
    if not column.judged.ended_well:
        return "<br>".join(lines)
    for sign, outcome in (("✓", Outcome.PASSED), ("?", Outcome.UNKNOWN)):
        names = [verdict.oracle for verdict in column.judged.verdicts if verdict.outcome is outcome]
        lines += [f"{sign} *{', '.join(names)}*"] if names else []
    return "<br>".join(lines)


def decisive(column: Column, verdict: Verdict) -> str:
    """What an oracle found, in a few words."""
    lines = evidence(column, verdict)
    place = next((found for line in lines if (found := re.search(r"[\w/]+\.py:\d+", line))), None)
    at = f" at `{place[0]}`" if place else ""
    match verdict.kind:
        case "metric":
            return f"{len(verdict.data['metrics'])} metrics differ between the ranks"
        case "value":
            return _and([f"`{name}`" for name in verdict.data["metrics"]])
        case "sequence":
            return f"the ranks diverge at collective no. {verdict.data['index'] + 1},{at}"
        case "loss" | "rows" | "overlap":
            return verdict.summary
        case "abort":
            return f"abort in C++{at}"
        case _:
            return f"{_code(lines[0].partition(': ')[2])}{at}"


def _code(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def _and(names: Sequence[str]) -> str:
    return f"{len(names)} metrics are not those of one process" if len(names) > 3 else f"{', '.join(names)}"


def evidence(column: Column, verdict: Verdict) -> list[str]:
    """The evidence of an oracle, without details of this machine and this run."""
    lines = column.evidence(verdict)
    for pattern, instead in NOISE:
        lines = [pattern.sub(instead, line) for line in lines]
    return lines


def _section(trial: Trial, facts: Sequence[Fact]) -> str:
    case = trial.case
    lines = [f"### {case.name}, {case.release}", "", *([case.note, ""] if case.note else [])]
    lines += [f"- {mark(fact.holds)} {fact.text}" for fact in facts]
    lines += [""] * bool(facts)
    for column in trial.columns.values():
        lines += [f"{title(trial, column)}:", "", "```text"]
        lines += [*_said(column), "```", ""]
    return "\n".join(lines)


def title(trial: Trial, column: Column) -> str:
    """A title for the code that ran in a column."""
    if column.label == UPSTREAM:
        return f"trl {column.release}, as fixed upstream"
    variation = f" with `{trial.case.variation}`" if trial.case.variation else ""
    if trial.case.is_launch:
        how = "as `accelerate launch` starts it" if column.label == FIXED else "as bare `python` starts it"
        return f"trl {column.release}, {how}"
    if column.label == FIXED:
        how = f"fixed by hand (`{trial.case.by_hand}`)" if trial.case.by_hand else "after `--fix`"
        return f"trl {column.release}{variation}, {how}"
    return f"trl {column.release}{variation or ', as released'}"


def _said(column: Column) -> Iterator[str]:
    signs = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.UNKNOWN: "?"}
    for verdict in column.judged.verdicts:
        first, *rest = evidence(column, verdict)
        yield f"{signs[verdict.outcome]} {verdict.oracle}: {first}"
        yield from (f"    {line}" for line in rest)


def mark(holds: bool) -> str:
    return "✓" if holds else "✗"


def _versions(trials: Iterable[Trial]) -> list[tuple[str, ...]]:
    used = {column.release for trial in trials for column in trial.columns.values()}
    torch = TORCH.partition("==")[2]
    return [(release, *row.pins.values(), torch) for release, row in ENVIRONMENTS.items() if release in used]


def _table(rows: Sequence[Sequence[str]]) -> str:
    first, *rest = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in (first, ["---"] * len(first), *rest))


def printed(trial: Trial, facts: Sequence[Fact]) -> str:
    """A case for the terminal: each column in a line, the evidence if it is not as it must be, and the facts."""
    lines = [f"{trial.case.name} (trl {trial.case.release})"]
    for column in trial.columns.values():
        said = "; ".join(f"{verdict.oracle}: {decisive(column, verdict)}" for verdict in column.failed) or "passes"
        lines.append(f"  {mark(column.as_expected)} {title(trial, column)}: {said}")
        lines += [f"      {line}" for line in _said(column) if not column.as_expected]
    return "\n".join([*lines, *(f"  {mark(fact.holds)} {fact.text}" for fact in facts)])
