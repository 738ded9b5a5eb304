"""Why a finding was not reached: a function that was never called, or a branch that no rank has taken.

If a trainer does that work only now and then (evaluation, saving, logging), the options to trigger it are named.

Source: https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trl_lint.findings import Finding
from trl_lint.verify.record.executed import Ran
from trl_lint.verify.record.statements import Statement, Statements
from trl_lint.verify.record.traces import RankRecord, Run

_OPTION = re.compile(r"""add_argument\(\s*["'](--[\w-]+)""")
# Parts of conditions for work that is done in some steps only, or on request.
_NOW_AND_THEN = re.compile(r"%|\bdo_|_steps|_every|_freq|_interval|_strategy|should_")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Occasion:
    """Work that is not done in each step.

    Attributes:
        names: The names of functions and conditions that belong to it.
        options: How to make a trainer do it early.
        own_options: The names of a script's own options for it.
    """

    names: re.Pattern[str]
    text: str
    options: str
    own_options: re.Pattern[str]


def _occasion(names: str, text: str, options: str, own_options: str) -> Occasion:
    return Occasion(re.compile(names, re.IGNORECASE), text, options, re.compile(own_options, re.IGNORECASE))


# The first match counts.
OCCASIONS = (
    _occasion(
        r"compute_metrics|preprocess_logits_for_metrics|eval(?!\()|prediction_step|prediction_loop|valid(?!at(e|or)_)",
        "evaluation never ran",
        "--eval_strategy steps --eval_steps 1",
        r"eval|valid",
    ),
    _occasion(r"predict", "nothing was predicted", "--do_predict", r"predict|test"),
    _occasion(r"save|checkpoint", "nothing was saved", "--save_strategy steps --save_steps 1", r"save|checkpoint"),
    _occasion(r"epoch", "no epoch came to its end", "--num_train_epochs 1, and no --max_steps", r"epoch"),
    _occasion(r"(^|[_.])log(_|$|s\b|ging)", "nothing was logged", "--logging_steps 1", r"log"),
    _occasion(r"compute_loss|training_step|on_step|train\b", "no step was trained", "--max_steps 1", r"step"),
)
TRAINERS = re.compile(r"TrainingArguments|[A-Z]\w*Config\(|HfArgumentParser|TrlParser|Trainer\b")


def reason(finding: Finding, run: Run, files: Iterable[Path]) -> str:
    """Why no rank has executed the line of a finding, in a few words, and how to have it executed.

    files: those of the program, whose options may be relevant.
    """
    known = [rank for rank in run.ranks if rank.executed.files]
    if all(finding.path not in rank.executed.files for rank in known):
        return "the file was never imported"
    rank = next(rank for rank in known if finding.path in rank.executed.files)
    statement = rank.executed.statement(finding.path, finding.start.line, finding.start.column)
    source = rank.executed.files[finding.path].statements
    if statement is None or source is None:
        return ""
    ranks = [each for each in known if finding.path in each.executed.files]
    text, words = _blocked_by(source, statement, finding.path, ranks)
    failed = not all(each.ended_well for each in run.ranks)
    if failed:
        return f"{text}, as the run failed before its end"
    occasion = next((each for each in OCCASIONS for word in words if each.names.search(word)), None)
    if occasion is None:
        return text
    return f"{occasion.text}: {text}{_advice(occasion, files)}"


def _blocked_by(
    source: Statements, statement: Statement, file: str, ranks: Sequence[RankRecord]
) -> tuple[str, list[str]]:
    """What keeps the ranks away: the innermost statement around the finding that a rank has reached; and its names."""

    def count(number: int) -> int:
        return sum(rank.executed.counts.get(Ran(file, number), 0) for rank in ranks)

    chain = [statement]
    while (holder := _holder(source, chain[-1])) is not None:
        chain.append(holder)
    names = [each.node.name for each in chain if isinstance(each.node, _FUNCTIONS)]
    for inner, outer in itertools.pairwise(chain):
        if not count(outer.number):
            continue
        header = source.header(outer)
        if isinstance(outer.node, _FUNCTIONS):
            if not any(each.scope == outer.number and count(each.number) for each in source.all):
                return f"the function `{outer.node.name}` was never called", names
        elif not any(each.block == inner.block and count(each.number) for each in source.all):
            return _never(inner, outer), [*names, *([header] if _NOW_AND_THEN.search(header) else [])]
        break
    return "it was left before that line", names


def _holder(source: Statements, statement: Statement) -> Statement | None:
    number = statement.block.owner if statement.block.owner >= 0 else statement.scope
    return source.all[number] if number >= 0 else None


def _never(inner: Statement, outer: Statement) -> str:
    if isinstance(outer.node, (ast.For, ast.AsyncFor, ast.While)) and inner.block.part == "body":
        return f"the loop at line {outer.line} had no round"
    if inner.block.part == "handlers":
        return f"nothing came to the `except` of the `try` at line {outer.line}"
    if inner.block.part == "orelse":
        return f"the `else` of line {outer.line} was never taken"
    return f"the branch at line {outer.line} was never taken"


def _advice(occasion: Occasion, files: Iterable[Path]) -> str:
    """The options that trigger the work: those of the script, if it has any, or those of its trainer."""
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
    own_options = [option for text in texts for option in _OPTION.findall(text) if occasion.own_options.search(option)]
    if own_options:
        return f"; see the script's {', '.join(dict.fromkeys(own_options))}"
    return f"; give {occasion.options}" if any(TRAINERS.search(text) for text in texts) else ""
