"""Ten broken programs under torchrun, its debug mode, torch's flight recorder, Accelerate and `trl-lint verify`.

    python -m evaluation.compared [--only TEXT] [--seconds N] [--limit N] [--keep DIR] [--output DIR]

Each tool runs each program on two processes on the CPU (the linter reads it); its output is judged by what it names
(`judging.py`). A whole run writes `docs/compared.md`; one with `--only` writes a page only with `--output`. With
`--keep` an interrupted run continues where it stopped. It takes about half an hour on two cores. Exit codes: 0 no other
tool names a cause that neither the linter nor verify names, 1 one does.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from evaluation.common import FAILED, PASSED, run
from evaluation.compared import cases, page, tools
from evaluation.compared.cases import Case
from evaluation.compared.judging import Said, judge
from evaluation.compared.tools import ACCELERATE, DETAIL, LINT, SHORT, TORCHRUN, VERIFY, Limits

DOCS = Path(__file__).parents[2] / "docs"
# The recorder's files come from the run with a short time-out.
STARTED = (TORCHRUN, SHORT, DETAIL, ACCELERATE, LINT, VERIFY)
# The tools of this repository.
OWN = (LINT, VERIFY)


def options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="programs with this text in their name")
    parser.add_argument("--seconds", type=float, default=8.0, help="after which collectives are given up")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a command is stopped")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what was said here, and run nothing twice")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where the page is written")
    chosen = parser.parse_args(arguments)
    if not chosen.only:
        chosen.output = chosen.output or DOCS
    return chosen


def outputs(case: Case, limits: Limits, folder: Path) -> dict[str, Said]:
    """What each tool says of a program: kept results, or those of a run."""
    found: dict[str, Said] = {}
    for tool in STARTED:
        kept = folder / f"{case.name}-{re.sub(r'[^a-z]+', '-', tool.lower())}.json"
        if not kept.is_file():
            print(f"… {case.name}: {tool}", file=sys.stderr, flush=True)
            said = tools.run(case, tool, limits)
            kept.write_text(json.dumps({name: asdict(each) for name, each in said.items()}))
        found.update((name, Said(**each)) for name, each in json.loads(kept.read_text()).items())
    return found


def better(compared: page.Compared) -> Iterator[str]:
    """The programs whose cause another tool names, and neither the linter nor verify."""
    for case, said in compared:
        told = {tool: judge(case, each) for tool, each in said.items()}
        others = [tool for tool, each in told.items() if each.cause and tool not in OWN]
        if others and not any(told[tool].cause for tool in OWN if tool in told):
            yield f"{case.name} ({', '.join(others)})"


def main(arguments: Sequence[str] | None = None) -> int:
    chosen = options(arguments)
    limits = Limits(chosen.seconds, chosen.limit)
    with ExitStack() as stack:
        folder = chosen.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        compared = [(case, outputs(case, limits, folder)) for case in cases.cases(chosen.only)]
        print("\n".join(page.table(compared)))
        if chosen.output:
            test = tools.accelerate_test(limits)
            said = "of each program that all is well" if test.status == 0 else "nothing of the program"
            chosen.output.mkdir(parents=True, exist_ok=True)
            (chosen.output / "compared.md").write_text(page.page(compared, said, limits), encoding="utf-8")
            print(f"written: {chosen.output / 'compared.md'}")
    wrong = list(better(compared))
    print(f"another tool names more: {'; '.join(wrong) or 'none'}")
    return FAILED if wrong else PASSED


if __name__ == "__main__":
    run(main)
