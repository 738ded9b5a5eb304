"""All fixtures, linted once for the tests that look at every finding in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from once import once

from trl_lint.frontends.cli import main

ROOT = Path(__file__).parents[1]
# Asked for in `ROOT`, without the variables that choose a cache or none.
ARGUMENTS = ("--preview", "--select=ALL", "fixtures/")


def cache_of_fixtures(factory: pytest.TempPathFactory) -> Path:
    """A cache with the results: whoever asks for the same, in any format, looks them up."""
    return once(factory, "linted fixtures", _linted)


def _linted(folder: Path) -> Path:
    cache = folder / "cache"
    done = CliRunner().invoke(main, [f"--cache-dir={cache}", "--output-format=json", *ARGUMENTS])
    assert done.exit_code == 1
    return cache
