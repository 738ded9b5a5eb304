"""Right code that we did not write: does any oracle of `trl-lint verify` fail on trl's own trainers?

    python -m evaluation.stock_trainers [--only TEXT]

`stock_script.py` trains with each as users do: shuffled rows, dropout, gradient accumulation, evaluation, an uneven
last batch. No oracle may fail. What the trainers log themselves is reported, and fails only if they are included
(`--include` of the trainer's file): a second column. Environments are built if they are missing. Exit codes: 0 as it
must be, 1 not, 2 an environment could not be built.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.common import FAILED, PASSED, run
from evaluation.environments import packages_of, python_of

SCRIPT = Path(__file__).with_name("stock_script.py")
RELEASES = ("0.17.0", "1.16.0")
TRAINERS = ("SFT", "DPO", "KTO", "Reward", "GRPO")
COMMAND = ("verify", "--isolated", "--output-format", "json", "--limit", "600")


def failed(python: Path, trainer: str, *options: str) -> list[str]:
    """The failures of an unchanged trainer, in a line each; a note if nothing could be run."""
    command = [sys.executable, "-m", "trl_lint", *COMMAND, "--python", str(python), *options, str(SCRIPT), trainer]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    try:
        (proof,) = json.loads(done.stdout)["subjects"]
    except ValueError:
        return [" ".join(done.stderr.split()[-30:]) or f"exit code {done.returncode}"]
    return _failed(proof)


def _failed(proof: Mapping[str, Any]) -> list[str]:
    first = proof["runs"][0]
    return [f"*{each['oracle']}*: {each['summary']}" for each in first["verdicts"] if each["outcome"] == "failed"]


def table(rows: Sequence[tuple[str, str, Sequence[str], Sequence[str]]]) -> str:
    head = ["| trl | trainer | as a script is verified | with the trainer's own metrics |", "| --- | --- | --- | --- |"]
    said = [[release, trainer, "; ".join(alone) or "✓", "; ".join(own) or "✓"] for release, trainer, alone, own in rows]
    return "\n".join([*head, *(f"| {' | '.join(each)} |" for each in said)])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with this in `RELEASE TRAINER`")
    chosen = parser.parse_args(arguments)
    rows = []
    for release, trainer in ((each, name) for each in RELEASES for name in TRAINERS):
        if chosen.only not in f"{release} {trainer}":
            continue
        python = python_of(release)
        (file,) = (packages_of(release) / "trl" / "trainer").glob(f"{trainer.lower()}_trainer.py")
        row = (release, trainer, failed(python, trainer), failed(python, trainer, "--include", str(file)))
        print(f"{release} {trainer}: {row[2]} {row[3]}", file=sys.stderr, flush=True)
        rows.append(row)
    print(table(rows))
    return FAILED if any(alone for _, _, alone, _ in rows) else PASSED


if __name__ == "__main__":
    run(main)
