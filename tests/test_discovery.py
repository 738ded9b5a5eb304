"""Which files a run looks at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trl_lint.linter.files.discovery import (
    DEFAULT_EXCLUDES,
    PathProblem,
    find_files,
    import_roots,
    is_excluded,
    matches,
)


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Creates files (`path: text`) below an empty current folder."""

    def make(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    monkeypatch.chdir(tmp_path)
    return make


def found(*paths: str, **options) -> list[str]:
    """What is found below the paths (default: here), problems as `path: message`."""
    return [
        f"{item.path.as_posix()}: {item.message}" if isinstance(item, PathProblem) else item.as_posix()
        for item in find_files([Path(path) for path in paths or (".",)], **options)
    ]


def empty(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "")


def test_python_files_in_a_stable_order(tree):
    tree(**empty("b.py", "a/z.py", "a/y.py", "c.pyi", "d.txt", "e", "a-b.py"))
    assert found() == ["a/y.py", "a/z.py", "a-b.py", "b.py"]


def test_a_package_is_none_of_the_folders_that_hold_what_was_built(tree):
    tree(**empty("a/dist/__init__.py", "a/dist/x.py", "dist/x.py", "build/lib/a/__init__.py", "venv/__init__.py"))
    assert found() == ["a/dist/__init__.py", "a/dist/x.py"]
    assert not is_excluded(Path("a/dist/x.py"), root=Path.cwd(), exclude=())
    assert is_excluded(Path("dist/x.py"), root=Path.cwd(), exclude=())


def test_files_that_people_launch_from(tree):
    named = ["Dockerfile", "Makefile", "Snakefile"]
    known = [".github/ci.yml", *named, "README.md", "job.slurm", "run.sh", "x.ipynb", "x.py"]
    tree(**empty(*known, "d.txt", "LICENSE", "data.json", "build/run.sh"), **{"start": "#!/bin/sh\n"})
    assert found() == ["x.ipynb", "x.py"]
    assert found(launches=True) == sorted([*known, "start"])


def test_files_that_people_launch_from_are_excluded_like_others(tree):
    tree(**{".gitignore": ".github/\n*.slurm\n"}, **empty(".github/ci.yml", "job.slurm", "a/run.sh", "b/run.sh"))
    assert found(launches=True, exclude=["a"]) == ["b/run.sh"]
    assert found("job.slurm", launches=True) == ["job.slurm"]


def test_a_folder_called_like_a_file(tree):
    tree(**empty("x.py/y.py"))
    assert found() == found("x.py") == ["x.py/y.py"]


def test_named_files_are_always_linted(tree):
    tree(**{".gitignore": "*.py\n"}, **empty("a.py", "script", "venv/b.py"))
    assert found("a.py", "script", "venv/b.py", exclude=["a.py"]) == ["a.py", "script", "venv/b.py"]


def test_each_file_once(tree):
    here = tree(**empty("a/x.py", "a/y.py"))
    assert found("a/y.py", "a", str(here / "a")) == ["a/y.py", "a/x.py"]


def test_what_is_not_there(tree):
    tree(**empty("a.py"))
    assert found("gone", "a.py") == ["gone: no such file or directory", "a.py"]
    assert found("a.py/b.py") == ["a.py/b.py: not a directory"]


@pytest.mark.parametrize("name", sorted(DEFAULT_EXCLUDES))
def test_default_excludes(tree, name):
    tree(**empty(f"{name}/a.py", f"sub/{name}/a.py", "b.py"))
    assert found() == ["b.py"]


def test_a_named_folder_is_walked_whatever_it_is_called(tree):
    here = tree(**empty("build/venv/a.py", "build/b.py", "venv/lib/site-packages/trl/c.py"))
    assert found("build") == ["build/b.py"]
    assert found("venv/lib/site-packages") == ["venv/lib/site-packages/trl/c.py"]
    assert found(str(here / "build" / "venv")) == [(here / "build/venv/a.py").as_posix()]


def test_gitignore(tree):
    tree(
        **{".gitignore": "# words\n/top.py\nout/\n*_gen.py\n!keep_gen.py\n"},
        **empty("top.py", "a/top.py", "out/x.py", "a/out/x.py", "a_gen.py", "keep_gen.py"),
    )
    assert found() == ["a/top.py", "keep_gen.py"]
    assert len(found(respect_gitignore=False)) == 6


def test_nested_gitignores_the_nearest_decides(tree):
    tree(
        **{".gitignore": "*.py\n!c.py\n", "a/.gitignore": "!x.py\n/c.py\n"},
        **empty("x.py", "c.py", "a/x.py", "a/c.py", "a/b/x.py", "a/b/c.py"),
    )
    assert found() == ["a/b/c.py", "a/b/x.py", "a/x.py", "c.py"]


def test_gitignores_above_hold_as_far_as_the_repository(tree):
    tree(
        **{".gitignore": "*.py\n", "repo/.gitignore": "gen.py\n", "repo/.git/HEAD": ""},
        **empty("repo/a/gen.py", "repo/a/x.py"),
    )
    assert found("repo/a") == ["repo/a/x.py"]


def test_a_named_folder_outdoes_the_gitignore_that_hides_it(tree):
    tree(
        **{".gitignore": "out/\ngen.py\n", ".git/HEAD": ""},
        **empty("out/x.py", "out/gen.py", "out/sub/y.py"),
    )
    assert found("out") == ["out/sub/y.py", "out/x.py"]
    assert found("out/sub") == ["out/sub/y.py"]
    assert found() == []


def test_odd_gitignores_do_no_harm(tree):
    here = tree(**empty("a.py", "b.py", "sub/.gitignore/c.py"))
    (here / ".gitignore").write_bytes(b"!\n\xff\n\\\n[\na.py\n")
    assert found() == ["b.py", "sub/.gitignore/c.py"]


def test_exclude_is_relative_to_the_root(tree):
    here = tree(**empty("a/gen/x.py", "a/y.py", "gen/z.py", "w.py"))
    assert found(root=here, exclude=["/gen", "w.py"]) == ["a/gen/x.py", "a/y.py"]
    assert found("a", root=here / "a", exclude=["/gen"]) == ["a/y.py"]


def test_gitignore_can_not_bring_back_what_the_settings_exclude(tree):
    here = tree(**{".gitignore": "!x.py\n"}, **empty("x.py", "y.py"))
    assert found(root=here, exclude=["x.py"]) == ["y.py"]


def test_a_named_folder_outdoes_the_exclude_that_hides_it(tree):
    here = tree(**empty("fixtures/x.py", "fixtures/skip.py"))
    assert found("fixtures", root=here, exclude=["fixtures", "skip.py"]) == ["fixtures/x.py"]
    assert found(root=here, exclude=["fixtures"]) == []


FORCED = {
    ".gitignore": "/top.py\nout/\n*_gen.py\n!keep_gen.py\n",
    "a/.gitignore": "!a_gen.py\n/top.py\n",
    "out/.gitignore": "!x.py\n",
}
FORCED_NAMES = (
    "top.py a/top.py a/b/top.py out/x.py a/out/x.py a_gen.py keep_gen.py a/a_gen.py a/b_gen.py build/x.py "
    "a/venv/lib/x.py skip/x.py a/skip/x.py a/skip.py a/x.py x.py"
)


@pytest.mark.parametrize("repository", [True, False])
@pytest.mark.parametrize("respect_gitignore", [True, False])
@pytest.mark.parametrize("exclude", [(), ("skip",), ("/skip", "a/x.py"), ("*", "!x.py")])
def test_forced_excludes_leave_of_named_files_what_a_walk_finds(tree, repository, respect_gitignore, exclude):
    tree(**FORCED, **({".git/HEAD": ""} if repository else {}), **empty(*FORCED_NAMES.split()))
    options = {"exclude": exclude, "respect_gitignore": respect_gitignore}
    named = sorted(FORCED_NAMES.split())
    assert sorted(found(*named, force_exclude=True, **options)) == sorted(found(**options))
    assert found(*named, **options) == named


def test_forced_excludes_hold_for_named_folders(tree):
    here = tree(**empty("build/x.py", "gen/x.py", "a/x.py"))
    assert found("build", "gen", "a", root=here, exclude=["gen"], force_exclude=True) == ["a/x.py"]


def test_a_project_may_lie_in_a_folder_of_any_name(tree):
    here = tree(**empty("build/project/x.py"))
    root = here / "build" / "project"
    assert found("build/project/x.py", root=root, force_exclude=True) == ["build/project/x.py"]
    assert found("build/project/x.py", root=here, force_exclude=True) == []


def test_patterns_name_files_and_folders(tree):
    here = tree(**empty("gen/a/x.py", "y.py"))
    assert matches(Path("gen/a/x.py"), root=here, exclude=["/gen"])
    assert matches(Path("y.py"), root=here, exclude=["y.py"])
    assert not matches(Path("y.py"), root=here, exclude=["gen"])
    assert not matches(Path("y.py"), root=here / "gen", exclude=["*"])


def test_links(tree):
    here = tree(**empty("a/x.py"))
    for link, target in {
        "a/loop": here / "a",
        "a/self.py": here / "a" / "self.py",
        "a/.#lock.py": here / "nowhere",
        "a/y.py": here / "a" / "x.py",
        "b": here / "a",
    }.items():
        os.symlink(target, here / link)
    assert found() == ["a/x.py", "a/y.py"]
    assert found("b") == ["b/x.py", "b/y.py"]


def test_a_folder_that_can_not_be_read(tree, monkeypatch):
    tree(**empty("a/x.py", "b/y.py"))
    scandir = os.scandir

    def refuse(path):
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert found() == ["a: cannot read: Permission denied", "b/y.py"]


def test_patterns_cost_pathspec_only_where_there_are_any(tmp_path):
    (tmp_path / "x.py").write_text("")
    script = (
        "import sys; from pathlib import Path; from trl_lint.linter.files.discovery import find_files\n"
        "assert len(list(find_files([Path('.')]))) == 1; sys.exit(3 * ('pathspec' in sys.modules))"
    )
    run = [sys.executable, "-c", script]
    assert subprocess.run(run, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / ".gitignore").write_text("y.py\n")
    assert subprocess.run(run, cwd=tmp_path, check=False).returncode == 3


IGNORES = {
    ".gitignore": "# all\n\n*.gen.py\n!/keep.gen.py\n/a/*\n!/a/b/\nc?/\n**/deep/x.py\n"
    "sp\\ ace.py\n[xy].py\ntrail.py   \n",
    "a/b/.gitignore": "*\n!in.py\n!sub\n!sub/**\n",
    "d/.gitignore": "!z.gen.py\n/only_here.py\ne/f\n",
}
NAMES = [
    *(
        "keep.gen.py",
        "q.gen.py",
        "a/top.py",
        "a/b/in.py",
        "a/b/out.py",
        "a/b/sub/s.py",
        "c1/x1.py",
        "c12/x2.py",
    ),
    *(
        "d/z.gen.py",
        "d/only_here.py",
        "d/g/only_here.py",
        "d/e/f/h.py",
        "d/e/i.py",
        "m/deep/x.py",
        "m/deep/w.py",
    ),
    *("sp ace.py", "x.py", "m/y.py", "xy.py", "trail.py", "!bang.py", "#hash.py", "d/keep.gen.py"),
]


def test_git_agrees(tree):
    here = tree(**IGNORES, **empty(*NAMES))
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    command = ["git", "ls-files", "-z", "--others", "--exclude-standard", "*.py"]
    theirs = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout
    assert sorted(found()) == sorted(theirs.split("\0")[:-1])


@pytest.mark.parametrize(
    ("files", "project"),
    [
        (["setup.py", "parts/setup.cfg"], "parts"),
        (["setup.py"], "."),
        (["setup.cfg", "parts/examples/requirements.txt"], "."),
        ([".git", "parts/setup.py"], "."),  # a marked project is larger than a package in it
        (["requirements.txt"], "parts/examples"),
    ],
)
def test_an_unpacked_archive_is_a_project(tree, files, project):
    here = tree(**empty(*files, "parts/examples/train.py"))
    assert import_roots(None, [here / "parts/examples"])[0] == here / project
