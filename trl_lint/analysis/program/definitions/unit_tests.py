"""Unit tests, and classes that a server runs: one process runs them, whatever they create."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.knowledge.backends import ONE_PROCESS, TEST_CLASS, TEST_FILES, TEST_FUNCTION

if TYPE_CHECKING:
    from pathlib import PurePath

    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo


def is_test(function: FunctionInfo | None) -> bool:
    """Whether a function runs in one process, as a unit test."""
    return is_one_process(function) or is_run_by_pytest(function)


def is_one_process(function: FunctionInfo | None) -> bool:
    """Whether a function is known to run in one process, as a method of a class of tests or of a served model."""
    cls = function.cls if function is not None else None
    return cls is not None and is_of_one_process(cls)


def is_of_one_process(cls: ClassInfo) -> bool:
    """Whether one process makes the objects of a class, as of tests and of a served model."""
    return any(base in ONE_PROCESS for base in cls.library_bases())


def is_run_by_pytest(function: FunctionInfo | None) -> bool:
    """Whether pytest runs a function, or one around it, as a test, which is one process.

    A file with a main block is excluded: it may be a script that tests a model on all GPUs.
    """
    while function is not None:
        if _is_test(function):
            return not function.module.mentions(rb"__main__")
        function = function.closure.function if function.closure is not None else None
    return False


def is_test_file(path: PurePath) -> bool:
    """Whether pytest looks for tests in a file, by its name, wherever it is and whatever it imports."""
    return any(map(path.match, TEST_FILES))


def _is_test(function: FunctionInfo) -> bool:
    is_in_place = function.cls is None or function.cls.name.startswith(TEST_CLASS)
    return is_in_place and function.name.startswith(TEST_FUNCTION) and is_test_file(function.module.path)
