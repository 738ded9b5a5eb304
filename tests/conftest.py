"""What holds for all tests: which of them are fast, and that none is handed results of another one's cache."""

import atexit
import gc
import os
from functools import cache, partial
from pathlib import Path

import pytest

# Tests of caches say so themselves.
os.environ["TRL_LINT_NO_CACHE"] = "1"
# Processes that tests start would each compile the whole package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

HERE = Path(__file__).parent
# What is worth running after each edit: every rule on its programs and fixtures, every fact, the structure.
FAST = ("rules", "analysis/test_reveal.py", "test_examples.py", "test_fixtures.py", "test_structure.py")


def pytest_configure(config):
    if hasattr(config, "workerinput"):
        # Registered first, so called last: all that a worker holds would be taken down object by object.
        atexit.register(partial(_end, os.getpid()))


def _end(worker):
    if os.getpid() == worker:
        os._exit(0)


def pytest_collection_modifyitems(items):
    fast = [HERE / each for each in FAST]

    @cache
    def is_fast(path):
        return any(path == each or each in path.parents for each in fast)

    for item in items:
        if is_fast(item.path):
            item.add_marker(pytest.mark.fast)


def pytest_collection_finish():
    """Thousands of tests stay until the end: they are looked through for garbage more seldom than is usual."""
    gc.collect()
    gc.set_threshold(50_000, 20, 10)


def pytest_sessionfinish(session):
    """Pytest looks five times for what raises as it goes, when a worker has no way left to tell: longer than it has."""
    if hasattr(session.config, "workerinput"):
        gc.freeze()


def pytest_runtest_logfinish():
    """What a command takes out of the collector's sight, as its process ends soon, is garbage when its test is over."""
    gc.unfreeze()


@pytest.fixture
def analyses(monkeypatch) -> list[object]:
    """The runs in which something was analysed."""
    from trl_lint.linter.linter import Linter

    seen: list[object] = []
    analyse = Linter.analyse

    def counted(self, files):
        seen.append(self)
        analyse(self, files)

    monkeypatch.setattr(Linter, "analyse", counted)
    return seen
