"""Programs that the harness was not tuned on: what does `trl-lint verify` say of each?

    python -m evaluation.held_out_programs [--only TEXT]

Each of `held_out/` is given to the command as a user would, with unsafe fixes, and its verdict on the finding in the
line of the bug is compared with what the program is (`cases/held_out.json`). A broken one is *shown* if it fails as it
is and passes fixed, by the same oracle; a right one must pass. Exit codes: 0 as it must be, 1 not, 2 torch or trl is
missing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evaluation.common import FAILED, NOT_RUN, PASSED, run

PROGRAMS = Path(__file__).parent / "held_out"
CASES = Path(__file__).parent / "cases" / "held_out.json"
NEEDED = ("torch", "trl", "transformers", "accelerate", "datasets")
# Shown only with a GPU for each process, or another engine. Devices are emulated: `EMULATED` is shown here too.
OUT_OF_REACH = "needs a GPU"
EMULATED = "TRL011"
LEAST_SHOWN = 0.9
COMMAND = ("verify", "--isolated", "--unsafe-fixes", "--output-format", "json", "--limit", "300")


@dataclass(frozen=True)
class Case:
    """One program. rule: the code of the rule for its bug, None if it is right. lines: where its bug is."""

    program: str
    rule: str | None
    lines: tuple[int, ...]
    args: tuple[str, ...]
    shows_as: str

    @property
    def in_reach(self) -> bool:
        return self.shows_as != OUT_OF_REACH or self.rule == EMULATED


@dataclass(frozen=True)
class Said:
    """What the command says of a program. verdict: on findings of its bug's rule, or of all oracles if it is right."""

    case: Case
    verdict: str
    conclusion: str
    seconds: float

    @property
    def is_right(self) -> bool:
        return self.verdict == ("shown" if self.case.rule else "passes")


def cases(only: str = "") -> list[Case]:
    rows = json.loads(CASES.read_text(encoding="utf-8"))
    found = [
        Case(row["program"], row["rule"], tuple(row["lines"]), tuple(row["args"]), row["shows_as"]) for row in rows
    ]
    return [case for case in found if only in case.program]


def asked(case: Case) -> Said:
    """Run the command on a program."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "trl_lint", *COMMAND, str(PROGRAMS / case.program), *case.args]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - begun
    try:
        (proof,) = json.loads(done.stdout)["subjects"]
    except ValueError:
        said = done.stderr.strip().splitlines()
        return Said(case, "no report", said[-1] if said else f"exit code {done.returncode}", seconds)
    return Said(case, _verdict(case, proof), proof["conclusion"], seconds)


def _verdict(case: Case, proof: Mapping[str, Any]) -> str:
    if case.rule is None:
        failed = [
            f"{verdict['oracle']}: {verdict['summary']}"
            for column in proof["runs"]
            for verdict in column["verdicts"]
            if verdict["outcome"] == "failed"
        ]
        return failed[0] if failed else "passes" if proof["holds"] else "does not hold"
    said = [each["verdict"] for each in proof["findings"] if each["code"] == case.rule]
    if not said:
        others = sorted({each["code"] for each in proof["findings"]})
        return f"no finding of {case.rule}" + (f" but {', '.join(others)}" if others else "")
    return "shown" if "shown" in said else said[0]


def table(found: Sequence[Said]) -> str:
    rows = [
        f"| {each.case.program} | {each.case.rule or 'right'} | {each.verdict} | {each.conclusion} |" for each in found
    ]
    return "\n".join(["| program | bug | said | conclusion |", "| --- | --- | --- | --- |", *rows])


def summary(found: Sequence[Said]) -> tuple[str, bool]:
    """A sentence on all of them, and whether everything is as it must be."""
    broken = [each for each in found if each.case.rule]
    reachable = [each for each in broken if each.case.in_reach]
    shown = sum(each.is_right for each in reachable)
    right = [each for each in found if not each.case.rule]
    passed = sum(each.is_right for each in right)
    share = shown / len(reachable) if reachable else 1.0
    text = f"{shown} of {len(reachable)} broken programs shown ({share:.0%}), {passed} of {len(right)} right ones pass"
    return text, share >= LEAST_SHOWN and passed == len(right)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="programs with this in their name")
    chosen = parser.parse_args(arguments)
    missing = [name for name in NEEDED if not find_spec(name)]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
        return NOT_RUN
    found = []
    for case in cases(chosen.only):
        found.append(asked(case))
        print(f"{case.program}: {found[-1].verdict} ({found[-1].seconds:.0f} s)", file=sys.stderr, flush=True)
    print(table(found))
    text, holds = summary(found)
    print(f"\n{text}")
    return PASSED if holds else FAILED


if __name__ == "__main__":
    run(main)
