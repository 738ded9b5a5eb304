"""Which programs may run a file, as far as the names of imports tell."""

import pytest

from trl_lint.linter.importers import Importer, imported, programs_of


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("import a", {"a"}),
        ("import a.b.c, d.e", {"c", "e"}),
        ("import a.b as c", {"b"}),
        ("from a.b import C, d as e", {"b", "C", "d", "as", "e"}),
        ("from . import trainer", {"trainer"}),
        ("from .trainer import *", {"trainer"}),
        ("from a.b import (\n    C,\n)", {"b"}),
        ("    from a import b  # inside a function", {"a", "b"}),
        ("important = 1\nfrom_a = 2", set()),
    ],
)
def test_what_code_imports(code: str, names: set[str]):
    assert imported(code.encode()) == names


FILES = (
    Importer("train.py", frozenset({"trainer"}), program=True),
    Importer("lib/trainer.py", frozenset({"losses"}), program=False),
    Importer("lib/losses.py", frozenset({"trainer"}), program=False),
    Importer("lib/__init__.py", frozenset({"models"}), program=False),
    Importer("evaluate.py", frozenset({"lib"}), program=True),
    Importer("alone.py", frozenset(), program=True),
)


@pytest.mark.parametrize(
    ("path", "programs"),
    [
        ("lib/trainer.py", {"train.py"}),
        ("lib/losses.py", {"train.py"}),
        ("lib/models.py", {"evaluate.py"}),
        ("lib/unused.py", set()),
        ("alone.py", set()),
    ],
)
def test_programs_that_import_a_file(path: str, programs: set[str]):
    assert programs_of(path, FILES) == programs
