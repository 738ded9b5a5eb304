"""The hooks in a real pre-commit. Their environment is built from the package index, which takes up to a minute."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from once import once
from samples import BASE, BROKEN, FIXTURES, MINE, ROOT, marks, unmarked

PACKED = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "trl_lint", "codemods", "fixtures")
UNREACHABLE = re.compile(
    r"Could not find a version that satisfies|No matching distribution|ConnectionError|NewConnection"
)

CONFIG = """repos:
- repo: {repository}
  rev: {revision}
  hooks:
  - id: trl-lint
    verbose: true
  - id: trl-lint-fix
"""
Hook = Callable[..., subprocess.CompletedProcess[str]]


def git(*args: str, folder: Path) -> str:
    author = ("-c", "user.name=Tester", "-c", "user.email=tester@example.org")
    done = subprocess.run(["git", *author, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path) -> str:
    """Make a folder a repository with its whole content; return the commit."""
    git("init", "-q", folder=folder)
    git("add", "--all", folder=folder)
    git("commit", "-qm", "All of it", folder=folder)
    return git("rev-parse", "HEAD", folder=folder)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory) -> Path:
    """A clean clone of the repository, and the cache of pre-commit next to it."""
    return once(tmp_path_factory, "hooks", published)


def published(folder: Path) -> Path:
    clone = folder / "clone"
    clone.mkdir()
    for name in PACKED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, clone / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.is_file():
            shutil.copy(source, clone / name)
    repository(clone)
    return clone


@pytest.fixture
def project(hooks, tmp_path) -> Path:
    """A user's project, with the hooks in its configuration."""
    files = {
        **{f"{name}.py": unmarked(text) for name, text in BROKEN.items()},
        "base.py": BASE,
        "mine.py": MINE,
        "generated/x.py": unmarked(BROKEN["item_before_gather"]),
        "pyproject.toml": "[tool.trl-lint]\nexclude = ['generated']\n",
        ".pre-commit-config.yaml": CONFIG.format(repository=hooks, revision=git("rev-parse", "HEAD", folder=hooks)),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    repository(tmp_path)
    return tmp_path


@pytest.fixture
def hook(hooks, project) -> Hook:
    """Runs one of the hooks in the project."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")

    def run(*args: str, repository: Path | None = None) -> subprocess.CompletedProcess[str]:
        action = ["run", "--color=never"] if repository is None else ["try-repo", "--color=never", str(repository)]
        command = [sys.executable, "-m", "pre_commit", *action, *args]
        environment = {**os.environ, "PRE_COMMIT_HOME": str(hooks.parent / "cache")}
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        if UNREACHABLE.search(done.stdout + done.stderr):
            pytest.skip("the package index can't be reached, and the hooks' environment is built from it")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done

    return run


def found(done: subprocess.CompletedProcess[str]) -> list[tuple[str, int, str]]:
    """The findings that a hook showed: path, line, code."""
    rows = re.findall(r"^(\S+):(\d+):\d+: (TRL\d{3})", done.stdout, re.MULTILINE)
    return [(path, int(line), code) for path, line, code in rows]


@pytest.mark.index
def test_the_lint_hook(hook, project):
    """All files of a project, except those that its settings exclude."""
    done = hook("trl-lint", "--all-files")
    expected = [(f"{name}.py", *mark) for name, text in BROKEN.items() for mark in marks(text)]
    assert (done.returncode, found(done)) == (1, sorted([*expected, ("mine.py", 7, "TRL003")]))
    assert git("status", "--porcelain", folder=project) == ""


@pytest.mark.slow
@pytest.mark.index
def test_trying_the_repository_out(hook, hooks, project):
    """`pre-commit try-repo` on a clean clone, as users do to see its findings."""
    (project / ".pre-commit-config.yaml").unlink()
    done = hook("trl-lint", "--all-files", repository=hooks)
    expected = [(f"{name}.py", *mark) for name, text in BROKEN.items() for mark in marks(text)]
    assert (done.returncode, found(done)) == (1, sorted([*expected, ("mine.py", 7, "TRL003")]))


@pytest.mark.index
def test_the_lint_hook_reads_what_it_is_not_handed(hook):
    """Imports are read from the disk; findings are those in the files of the commit."""
    done = hook("trl-lint", "--files", "mine.py")
    assert (done.returncode, found(done)) == (1, [("mine.py", 7, "TRL003")])
    done = hook("trl-lint", "--files", "base.py", "pyproject.toml", "generated/x.py")
    assert (done.returncode, found(done)) == (0, [])


@pytest.mark.index
def test_the_fix_hook(hook, project):
    done = hook("trl-lint-fix", "--all-files")
    assert "files were modified by this hook" in done.stdout
    changed = git("status", "--porcelain", folder=project).replace("M ", "").split()
    assert changed == sorted([*(f"{name}.py" for name in BROKEN), "mine.py"])
    for name in BROKEN:
        fixed = (FIXTURES / name / "fixed.py").read_text(encoding="utf-8")
        assert (project / f"{name}.py").read_text(encoding="utf-8") == fixed
    assert hook("trl-lint-fix", "--files", *changed).returncode == 0


@pytest.mark.index
def test_the_hooks_need_no_torch(hook, hooks):
    hook("trl-lint", "--files", "base.py")
    # The environment of a local hook in another test may be next to it, which is no clone of this repository.
    (clone,) = (each.parent for each in (hooks.parent / "cache").glob("repo*/trl_lint"))
    (python,) = clone.glob("py_env-*/bin/python")
    script = "from importlib.metadata import distributions; print(*(each.metadata['Name'] for each in distributions()))"
    installed = subprocess.run([python, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert "trl-lint" in installed
    assert {"torch", "transformers", "accelerate", "trl", "datasets", "flake8"}.isdisjoint(installed)


@pytest.mark.slow
@pytest.mark.index
def test_flake8_in_pre_commit_as_the_documentation_has_it(hook, hooks, project):
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"```yaml\n(repos:\n.*?)```", page, re.DOTALL)
    address = "git+https://HOST/OWNER/trl-lint@COMMIT"
    assert address in recipe
    (project / ".pre-commit-config.yaml").write_text(recipe.replace(address, f"file://{hooks}"), encoding="utf-8")
    done = hook("flake8", "--files", "mine.py")
    assert done.returncode == 1
    assert " TRL003 [wrong-number] unreduced-metric: " in done.stdout
