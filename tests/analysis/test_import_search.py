"""Which file of a project an import means."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_lint.analysis.program.project.import_search import ImportSearch

FILES = (
    "programs/run/main.py",
    "programs/run/utils.py",
    "programs/run/wandb.py",
    "programs/run/strategy/deepspeed.py",
    "programs/package/__init__.py",
    "programs/package/inner/__init__.py",
    "programs/package/inner/parts.py",
    "programs/package/shared.py",
    "tools.py",
    "programs/run/tools.py",
    "part/requirements.txt",
    "part/tools/train.py",
    "part/tools/inner/eval.py",
    "part/parts.py",
    "part/datasets/__init__.py",
    "part/signal.py",
    "part/package/__init__.py",
    "part/package/lists.py",
    "part/tools/my-models/setup.py",
    "part/tools/my-models/my_models/__init__.py",
    "part/tools/my-models/my_models/parts.py",
    "layers/pyproject.toml",
    "layers/src/layers/__init__.py",
    "layers/src/layers/attention.py",
    "undeclared/undeclared/__init__.py",
    "deepspeed/setup.py",
    "deepspeed/deepspeed/__init__.py",
    "mylib-main/__init__.py",
    "mylib-main/train.py",
    "mylib-main/loader.py",
    "mylib-main/torch.py",
    "mylib-main/parts/__init__.py",
    "mylib-main/parts/train.py",
    "scripts-main/train.py",
    "scripts-main/loader.py",
)


@pytest.mark.parametrize(
    ("importer", "dotted", "found"),
    [
        ("programs/run/main.py", "utils", "programs/run/utils.py"),
        ("programs/run/main.py", "strategy.deepspeed", "programs/run/strategy/deepspeed.py"),
        # A program may be in the folder above; but the same must be found from wherever the file is linted.
        ("programs/run/strategy/deepspeed.py", "utils", None),
        ("programs/run/strategy/deepspeed.py", "tools", "programs/run/tools.py"),
        # The package is in a folder of another name.
        ("mylib-main/train.py", "mylib.loader", "mylib-main/loader.py"),
        ("mylib-main/train.py", "mylib.parts", "mylib-main/parts/__init__.py"),
        ("mylib-main/parts/train.py", "mylib", "mylib-main/__init__.py"),
        ("mylib-main/train.py", "other.loader", None),
        ("mylib-main/train.py", "my.loader", None),
        ("mylib-main/train.py", "main.missing", None),
        ("scripts-main/train.py", "scripts.loader", None),  # no package
        # The library is meant: a folder above may have a file of its name.
        ("programs/run/strategy/deepspeed.py", "wandb", None),
        # A file of a package names its modules by the package.
        ("programs/package/inner/parts.py", "shared", None),
        ("programs/package/inner/parts.py", "package.shared", "programs/package/shared.py"),
        ("programs/package/inner/parts.py", "tools", "tools.py"),
        ("tools.py", "utils", None),
        # A folder that declares what its code needs is a project: its programs find its modules by its path.
        ("part/tools/train.py", "parts", "part/parts.py"),
        ("part/tools/train.py", "package.lists", "part/package/lists.py"),
        ("part/tools/train.py", "datasets", "part/datasets/__init__.py"),
        ("part/tools/inner/eval.py", "parts", "part/parts.py"),
        ("part/tools/train.py", "signal", None),
        ("part/tools/train.py", "lists", None),
        ("programs/run/main.py", "parts", None),
        # A project of the name of its package is installed from where it is; the copy of a library means the library.
        ("part/tools/train.py", "my_models.parts", "part/tools/my-models/my_models/parts.py"),
        ("part/tools/inner/eval.py", "my_models", "part/tools/my-models/my_models/__init__.py"),
        ("programs/run/main.py", "my_models.parts", None),
        ("part/tools/train.py", "layers.attention", "layers/src/layers/attention.py"),
        ("part/tools/train.py", "undeclared", None),
        ("programs/run/main.py", "deepspeed", None),
    ],
)
def test_the_file_that_is_meant(tmp_path: Path, importer: str, dotted: str, found: str | None):
    for each in FILES:
        path = tmp_path / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    wanted = found and tmp_path / found
    assert ImportSearch((tmp_path,)).find_from(dotted, tmp_path / importer) == wanted
    # Linted on its own, below the same root, it finds the same.
    assert ImportSearch((tmp_path, (tmp_path / importer).parent)).find_from(dotted, tmp_path / importer) == wanted


def test_a_file_that_is_not_on_the_disk_exists_as_long_as_it_is_open(tmp_path):
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    search = ImportSearch((tmp_path,))
    search.overlay[first] = b""
    assert search.has_file(first) and search.holds(tmp_path, "first.py") and not search.has_file(tmp_path / "third.py")
    del search.overlay[first]
    search.overlay[second] = b""  # as many are open as before
    assert search.has_file(second) and not search.has_file(tmp_path / "fourth.py")
