"""The codemod of each rule, in this process; `ways_in/test_libcst_codemod.py` runs some of them as users do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import libcst as cst
from fixture_marks import MARK

from trl_lint.findings import Applicability
from trl_lint.fixes import fix_of
from trl_lint.fixes.base import RuleFix
from trl_lint.rules import find_rule
from trl_lint.verify.proof.fixtures import expected_failures

FIXTURES = Path(__file__).parents[1] / "fixtures"
SETTINGS = '[tool.trl-lint]\ntarget-trl = "0.17.0"\ntarget-transformers = "4.51.3"\n'
# The rule whose findings a rule's fixes bring to light; `--fix` continues until none is left.
BROUGHT_TO_LIGHT = {"TRL001": "TRL014"}


@cache
def commands() -> dict:
    """The codemods by their rule's code: only the worker that runs this imports them, and LibCST's part for them."""
    from trl_lint.codemods import COMMANDS

    return {command.CODE: command for command in COMMANDS}


def mended(code: str, text: str, path: Path) -> str:
    """What the codemod of a rule makes of a text, together with those of what it brings to light."""
    from libcst.codemod import CodemodContext

    done = commands()[code](CodemodContext(filename=str(path))).transform_module(cst.parse_module(text)).code
    return mended(BROUGHT_TO_LIGHT[code], done, path) if code in BROUGHT_TO_LIGHT else done


def wanted(code: str) -> tuple[str, str]:
    """A broken fixture with findings of one rule only, and what the rule's safe fixes make of it."""
    folder = FIXTURES / find_rule(code).name.replace("-", "_")
    way = expected_failures()[folder.name]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    found = {}
    for stem, text in texts.items():
        if stem.startswith("broken") and {each["codes"] for each in MARK.finditer(text)} == {code}:
            before = MARK.sub("", text)
            fixed = texts.get(stem.replace("broken", "fixed", 1), before)
            found[before] = before if stem in way.unsafe | way.by_hand else fixed
    return next((each for each in found.items() if each[0] != each[1]), next(iter(found.items())))


def test_each_codemod_makes_the_safe_fixes_of_its_rule(tmp_path):
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    wrong, changes = [], 0
    for code in commands():
        before, after = wanted(code)
        wrong += [code] * (mended(code, before, tmp_path / "train.py") != after)
        changes += before != after
    assert wrong == []
    assert changes > len([code for code in commands() if _has_safe_fixes(code)]) / 2


def _has_safe_fixes(code: str) -> bool:
    fix = fix_of(find_rule(code).fix_module)
    return Applicability.SAFE in (fix or RuleFix).applicabilities
