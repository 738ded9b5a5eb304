"""The worked examples at the top of modules: the code does what they say."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in (ROOT / "trl_lint").rglob("*.py")
    if re.search(r"^ *>>> ", path.read_text(encoding="utf-8"), re.MULTILINE)
)


def test_there_are_examples():
    assert len([name for name in MODULES if name.startswith("trl_lint.domain.")]) >= 7


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
