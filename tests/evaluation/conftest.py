"""The evaluations and the benchmarks are packages of the repository, which is not installed: add it to the path."""

import sys
from pathlib import Path

import pytest

from code_base import REPOSITORY, TRAIN, git

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from evaluation import releases  # noqa: E402
from evaluation.checkouts import Checkout  # noqa: E402


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Checkout:
    """One commit of a small code base, whose mirror is in `mirrors`."""
    monkeypatch.setenv(releases.CACHE_VARIABLE, str(tmp_path / "cache"))
    work = tmp_path / "work"
    files = {
        "train.py": TRAIN,
        "README.md": "# Training\n",
        "scripts/train": "#!/bin/bash\naccelerate launch train.py\n",
        "scripts/data": "1 2 3\n",
        "logo.png": "no picture\n",
        "rows.json": "[]\n",
        "zero.json": '{"zero_optimization": {"stage": 2}}',
        "requirements.txt": "trl\n",
    }
    for name, text in files.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (work / "link.py").symlink_to("train.py")
    git(work, "init", "--quiet")
    git(work, "add", "--all")
    git(work, "commit", "--quiet", "--message", "All of it")
    mirror = tmp_path / "mirrors" / "somebody+training" / "repo"
    mirror.parent.mkdir(parents=True)
    git(tmp_path, "clone", "--quiet", "--bare", str(work), str(mirror))
    return Checkout(REPOSITORY, git(work, "rev-parse", "HEAD"))


@pytest.fixture
def mirrors(tmp_path) -> Path:
    return tmp_path / "mirrors"
