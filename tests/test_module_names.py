"""Which file of a project an imported name means."""

import pytest

from trl_lint.linter.execution.module_names import ModuleNames

SAME_NAMES = (
    "main.py",
    "data.py",
    "run.py",
    "first/data.py",
    "first/train.py",
    "first/sub/__init__.py",
    "first/sub/data.py",
    "first/sub/models.py",
    "second/data.py",
    "src/second/losses.py",
)


@pytest.mark.parametrize(
    ("name", "importer", "meant"),
    [
        ("data", "second/train.py", {"second/data.py", "data.py"}),
        ("data", "first/sub/models.py", {"first/sub/data.py", "first/data.py", "data.py"}),
        ("data.Rows", "first/train.py", set()),
        ("second.losses", "main.py", {"src/second/losses.py"}),
        ("losses", "main.py", {"src/second/losses.py"}),
        ("third.losses", "main.py", {"src/second/losses.py"}),
        ("first.sub", "main.py", {"first/sub/__init__.py"}),
        ("first.sub.data", "main.py", {"first/sub/data.py"}),
        (".data", "first/sub/models.py", {"first/sub/data.py"}),
        ("..data", "first/sub/models.py", {"first/data.py"}),
        (".data.run", "first/sub/models.py", set()),
        (".sub.models", "first/train.py", {"first/sub/models.py"}),
        ("torch.utils.data", "alone/train.py", set()),
        ("third.second.data", "alone/train.py", {"second/data.py"}),
        (".nothing", "main.py", set()),
        ("nothing", "main.py", set()),
    ],
)
def test_which_file_an_import_means(name: str, importer: str, meant: set[str]):
    assert ModuleNames(SAME_NAMES).meant_by(name, importer) == meant
