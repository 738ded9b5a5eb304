"""Crash benchmark: every Python file of trl, transformers, accelerate and peft is linted; none may raise.

    python -m evaluation.crash [--json]

`--json` writes every finding with the text of its line, to be read and judged. Files that are not valid Python today
(templates, for example) are counted separately. Exit code 1 when a file raises.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.common import ALL_RULES, FAILED, PASSED, new_linter, run, symbol_at, table
from evaluation.corpora import CRASH, Corpus
from trl_lint.findings import Finding
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError


@dataclass
class Outcome:
    """The result of linting one corpus."""

    corpus: str
    files: int = 0
    raised: list[tuple[str, str]] = field(default_factory=list)
    unparsed: list[tuple[str, str]] = field(default_factory=list)
    findings: list[dict] = field(default_factory=list)


def lint(corpus: Corpus) -> Outcome:
    """Lint every file of a corpus with one linter; record exceptions and continue."""
    outcome, root = Outcome(str(corpus)), corpus.root
    linter = new_linter(root)
    for path in corpus.files:
        outcome.files += 1
        lint_file(linter, path, path.relative_to(root).as_posix(), outcome)
    return outcome


def lint_file(linter: Linter, path: Path, name: str, outcome: Outcome) -> None:
    """Lint one file and add the result to the outcome."""
    source = path.read_bytes()
    try:
        found = linter.check(path, source)
    except SourceError as error:
        outcome.unparsed.append((name, str(error)))
    except Exception:
        outcome.raised.append((name, traceback.format_exc()))
    else:
        outcome.findings.extend(describe(finding, name, source) for finding in found)


def describe(finding: Finding, name: str, source: bytes) -> dict:
    """A finding with what a reader needs: place, function, line, message and the chain of reasons."""
    lines = source.decode("utf-8", "replace").splitlines()
    line = finding.start.line
    return {
        "code": finding.code,
        "file": name,
        "line": line,
        "column": finding.start.column,
        "symbol": symbol_at(source, line),
        "text": lines[line - 1].strip() if line <= len(lines) else "",
        "message": finding.message,
        "because": [f"{step.path}:{step.start.line}: {step.text}" for step in finding.because],
        "help": finding.help,
        "fix": finding.fix.applicability.value if finding.fix else None,
    }


def report(outcomes: Sequence[Outcome]) -> str:
    """Findings per rule and corpus, then the files that raise."""
    rows: list[tuple[object, ...]] = [("corpus", "files", "raised", "not parsed", *ALL_RULES)]
    for outcome in outcomes:
        counts = Counter(finding["code"] for finding in outcome.findings)
        numbers = (outcome.files, len(outcome.raised), len(outcome.unparsed))
        rows.append((outcome.corpus, *numbers, *(counts[code] for code in ALL_RULES)))
    lines = [table(rows)]
    for outcome in outcomes:
        lines += [f"not parsed: {name}: {error}" for name, error in outcome.unparsed]
        lines += [f"\nraised: {outcome.corpus} {name}\n{trace}" for name, trace in outcome.raised]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="write all findings as JSON")
    parser.add_argument("--only", metavar="PACKAGE", help="only the corpora of this package")
    options = parser.parse_args(arguments)
    chosen = [corpus for corpus in CRASH if options.only in (None, corpus.release.package)]
    outcomes = [lint(corpus) for corpus in chosen]
    if options.json:
        print(json.dumps([vars(outcome) for outcome in outcomes], indent=1))
    print(report(outcomes), file=sys.stderr if options.json else sys.stdout)
    return FAILED if any(outcome.raised for outcome in outcomes) else PASSED


if __name__ == "__main__":
    run(main)
