"""The structure of the package: modules and functions stay small, and module names are unambiguous.

The allowed imports between packages are in pyproject.toml (`lint-imports`). What is larger than it should be is listed
with its size, and may only shrink.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from once import once

ROOT = Path(__file__).parents[1]
MODULES = sorted([*(ROOT / "trl_lint").rglob("*.py"), *(ROOT / "codemods").glob("*.py")])
LINES_OF_A_MODULE = 450
LINES_OF_A_FUNCTION = 40

# Places without a precise type: LibCST's fields, other libraries' callbacks, values that cross the layers upwards.
MOST_ANY = 92

# Modules that are still to be split.
LARGE_MODULES: dict[str, int] = {}
# The attributes of a frame, one line each.
LARGE_FUNCTIONS: dict[str, int] = {"trl_lint/analysis/state/frame.py:__init__": 44}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def is_table(path: Path) -> bool:
    """Whether a module holds rows, whose number depends on the libraries."""
    return path.parent.name == "knowledge"


@dataclass
class Found:
    """What the modules contain, with the module of each."""

    functions: list[tuple[Path, str, int]] = field(default_factory=list)
    classes: list[tuple[Path, str]] = field(default_factory=list)
    texts: list[tuple[Path, str]] = field(default_factory=list)
    any: int = 0


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """Each module is read once for all tests and workers."""
    return once(tmp_path_factory, "structure", lambda folder: read())


def read() -> Found:
    """What all modules contain. No tree is kept."""
    seen = Found()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                seen.functions.append((path, node.name, (node.end_lineno or 0) - node.lineno + 1))
            elif isinstance(node, ast.ClassDef):
                seen.classes.append((path, node.name))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                seen.texts.append((path, node.value))
            elif isinstance(node, ast.Name) and node.id == "Any":
                seen.any += 1
    return seen


def test_modules_are_small():
    lines = {
        name_of(each): len(each.read_text(encoding="utf-8").splitlines()) for each in MODULES if not is_table(each)
    }
    assert {name: count for name, count in lines.items() if count > LARGE_MODULES.get(name, LINES_OF_A_MODULE)} == {}


def test_functions_are_small(found):
    lines = [(f"{name_of(path)}:{name}", count) for path, name, count in found.functions]
    assert [each for each in lines if each[1] > LARGE_FUNCTIONS.get(each[0], LINES_OF_A_FUNCTION)] == []


def test_what_is_listed_as_large_is_there_and_large():
    for name, most in LARGE_MODULES.items():
        assert LINES_OF_A_MODULE < len((ROOT / name).read_text(encoding="utf-8").splitlines()) > most - 20
    for name in LARGE_FUNCTIONS:
        path, _, function = name.partition(":")
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


def test_every_package_says_what_it_is_about():
    packages = [path for path in MODULES if path.name == "__init__.py"]
    assert [name_of(path) for path in packages if not ast.get_docstring(ast.parse(path.read_bytes()))] == []


def test_modules_of_the_analysis_have_names_of_their_own():
    inside = [path for path in MODULES if "analysis" in path.parts or "domain" in path.parts]
    names = Counter(path.stem for path in inside if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_class_name_stands_for_two_things(found):
    """One module per format has its own `Report`, which is looked up by the format's name."""
    names = Counter(name for path, name in found.classes if "reports" not in path.parts)
    assert [name for name, count in names.items() if count > 1] == []


def test_untyped_names_become_fewer(found):
    assert found.any <= MOST_ANY


def test_no_text_stands_for_what_a_value_is(found):
    """Use a class or a member of an enum: `"<output>"` would be compared with names of libraries."""
    texts = ((path, text) for path, text in found.texts if {"domain", "knowledge", "analysis"} & {*path.parts})
    assert [(name_of(path), text) for path, text in texts if re.fullmatch(r"<[a-z_ ]+>", text)] == [
        ("trl_lint/analysis/program/project/classes.py", "<lambda>")  # Python's own name for it
    ]
