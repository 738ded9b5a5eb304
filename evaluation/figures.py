"""The figures of all first runs as tables of the documentation.

    python -m evaluation.figures [--check]

What a first run on unseen code found is kept with its code bases (`cases/first_runs.json`), and how many of the known
bugs were found when they were first looked for in `cases/recall_tables.json`. The tables of pages below docs/ stand
between `<!-- figures: NAME -->` and `<!-- end of figures -->`, so that they can be read without a build of the site,
and are rewritten by this command. With `--check` nothing is written; exit code 1 if a page is out of date.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.common import FAILED, PASSED, run
from evaluation.foreign import VERDICTS

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
_BETWEEN = re.compile(r"(<!-- figures: (?P<table>\w+) -->\n).*?(\n<!-- end of figures -->)", re.DOTALL)
# What is reported by default was not told apart before some of the earlier runs, and rules have changed much since.
_FIRST_OF_GROUPS = 45
_IN_A_GROUP = 10
_UNKNOWN = "n/a"

Row = Mapping[str, Any]


def runs() -> list[Row]:
    """The first runs in their order, but for that of one rule alone."""
    found: list[Row] = json.loads((HERE / "cases" / "first_runs.json").read_text(encoding="utf-8"))
    return [each for each in found if each["run"] is not None]


def tables_of_bugs() -> list[Row]:
    found: list[Row] = json.loads((HERE / "cases" / "recall_tables.json").read_text(encoding="utf-8"))
    return found


# --- precision ------------------------------------------------------------------------------------------


def groups_table() -> str:
    """The default set: ten runs in a row."""
    known = [each for each in runs() if each["run"] >= _FIRST_OF_GROUPS and "default" in each]
    rows = [_sum(known[start : start + _IN_A_GROUP]) for start in range(0, len(known), _IN_A_GROUP)]
    return _table(("runs", "code bases", "places", *VERDICTS, "real or minor"), [*rows, _sum(known)])


def _sum(some: Sequence[Row]) -> Iterator[str]:
    found = Counter[str]()
    for each in some:
        found.update(each["default"])
    yield f"{some[0]['run']} to {some[-1]['run']}" if len(some) > 1 else str(some[0]["run"])
    yield str(sum(len(each["code_bases"]) for each in some))
    yield from _cells(found)
    yield _percent(found["real"] + found["minor"], found["places"])


def default_table() -> str:
    return _table_of_runs("default")


def every_rule_table() -> str:
    return _table_of_runs("every_rule")


def _table_of_runs(kind: str) -> str:
    rows = ((str(each["run"]), str(len(each["code_bases"])), *_cells(each[kind])) for each in runs() if kind in each)
    return _table(("run", "code bases", "places", *VERDICTS), rows)


def _cells(figures: Mapping[str, int]) -> Iterator[str]:
    """The number of places, and those of each verdict; of the false ones their share as well."""
    yield str(figures["places"])
    for verdict in VERDICTS[:-1]:
        yield str(figures.get(verdict, _UNKNOWN))
    false = figures.get(VERDICTS[-1])
    yield _UNKNOWN if false is None else _with_share(false, figures["places"])


# --- recall ---------------------------------------------------------------------------------------------


def recall_table() -> str:
    rows = (
        (
            each["table"],
            each["about"],
            f"{_or_unknown(each['bugs'])}, {each['code_bases']}",
            str(each["in_scope"]),
            _found(each, "found", "by_default"),
            _found(each, "found_after", "by_default_after"),
        )
        for each in tables_of_bugs()
    )
    return _table(("table", "collected", "bugs, code bases", "in scope", "first run", "after fixes"), rows)


def _found(each: Row, every: str, default: str) -> str:
    if every not in each:
        return _UNKNOWN
    said = _with_share(each[every], each["in_scope"])
    return f"{said}, by default {each[default]}" if default in each else said


def recall_by_rule_table() -> str:
    """By the rule that may report them, how many of the bugs in scope were found when they were first looked for."""
    known = [each for each in tables_of_bugs() if "by_rule" in each]
    rules = sorted({rule for each in known for rule in each["by_rule"]}, key=lambda rule: (rule == "others", rule))
    rows = [(each["table"], *(_part(each["by_rule"].get(rule)) for rule in rules)) for each in known]
    sums = (
        _part([sum(each["by_rule"].get(rule, (0, 0))[place] for each in known) for place in (0, 1)]) for rule in rules
    )
    return _table(("table", *rules), [*rows, ("all", *sums)])


def recall_groups_table() -> str:
    known = tables_of_bugs()
    rows = [_sum_of_bugs(known[start : start + _IN_A_GROUP]) for start in range(0, len(known), _IN_A_GROUP)]
    return _table(("tables", "code bases", "bugs in scope", "found in the first run"), [*rows, _sum_of_bugs(known)])


def _sum_of_bugs(some: Sequence[Row]) -> tuple[str, ...]:
    bases, scope, found = (sum(each[key] for each in some) for key in ("code_bases", "in_scope", "found"))
    first, last = (re.match(r"\d+", each["table"]) for each in (some[0], some[-1]))
    assert first and last
    return (f"{first[0]} to {last[0]}", str(bases), str(scope), _with_share(found, scope))


# --- pages ----------------------------------------------------------------------------------------------


TABLES: Mapping[str, Callable[[], str]] = {
    "groups": groups_table,
    "default_set": default_table,
    "every_rule": every_rule_table,
    "recall": recall_table,
    "recall_by_rule": recall_by_rule_table,
    "recall_groups": recall_groups_table,
}


def with_figures(markdown: str) -> str:
    """A page with its tables as the data have them.

    Raises:
        KeyError: there is no table of this name.
    """
    return _BETWEEN.sub(lambda found: f"{found[1]}\n{TABLES[found['table']]()}\n{found[3]}", markdown)


def _table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ("---",) * len(head), *rows))


def _part(pair: Sequence[int] | None) -> str:
    return f"{pair[0]}/{pair[1]}" if pair else ""


def _or_unknown(number: int | None) -> str:
    return _UNKNOWN if number is None else str(number)


def _with_share(some: int, every: int) -> str:
    return f"{some} ({_percent(some, every)})" if some and every else str(some)


def _percent(some: int, every: int) -> str:
    return f"{100 * some / every:.0f} %" if every else _UNKNOWN


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    stale = []
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (wanted := with_figures(text)) != text:
            stale.append(page.name)
            if not options.check:
                page.write_text(wanted, encoding="utf-8")
    print("\n".join(stale) or "nothing to rewrite", file=sys.stderr)
    return FAILED if stale and options.check else PASSED


if __name__ == "__main__":
    run(main)
