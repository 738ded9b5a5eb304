"""Unusual trees: links, pipes, folders without permissions, names and depths that no system call accepts."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

import trl_lint
from trl_lint import files
from trl_lint.config import load_settings
from trl_lint.frontends.cli import main
from trl_lint.linter.files.discovery import find_files
from trl_lint.linter.store import cache
from trl_lint.linter.store.cache import FOLDER
from trl_lint.settings import Settings

BUG = "from accelerate import Accelerator\n\naccelerator = Accelerator()\nprint(accelerator.gather(loss.item()))\n"
FOUND = "t.py:4:7: TRL001"
NOBODY = 65534


@pytest.fixture(autouse=True)
def tree(tmp_path, monkeypatch) -> Path:
    """A project with one finding as the current folder, next to whatever else a test puts there."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    monkeypatch.delenv("TRL_LINT_CACHE_DIR", raising=False)
    (project / "pyproject.toml").touch()
    (project / "t.py").write_text(BUG)
    return project


@pytest.fixture
def ordinary_user(monkeypatch):
    """The same project for a user who is not root, in their own folder."""
    shown = CliRunner().invoke(main, ["--no-cache", "."])  # do late imports now
    assert FOUND in shown.stdout
    home = Path(tempfile.mkdtemp(dir="/tmp"))
    (home / "pyproject.toml").touch()
    (home / "t.py").write_text(BUG)
    monkeypatch.chdir(home)
    before = os.geteuid()
    if before == 0:
        for path in (home, *home.iterdir()):
            os.chown(path, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    yield home
    os.seteuid(before)
    for path in home.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(home)


def lint(*arguments: str) -> tuple[int, list[str], list[str]]:
    """Exit code, the findings in short, and the lines of standard error."""
    shown = CliRunner().invoke(main, ["--output-format", "concise", *(arguments or (".",))])
    assert "Traceback" not in shown.output and "internal error" not in shown.output
    found = [line.split(" ")[0] + " " + line.split(" ")[1] for line in shown.stdout.splitlines() if ": TRL0" in line]
    return shown.exit_code, found, shown.stderr.splitlines()


# --- the cache folder -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".gitignore", "CACHEDIR.TAG"])
@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_written_through_a_link_in_the_cache(tree, name, exists):
    victim = tree.parent / "victim"
    if exists:
        victim.write_text("precious")
    (tree / FOLDER).mkdir()
    (tree / FOLDER / name).symlink_to(victim)
    assert lint() == (1, [FOUND], [])
    assert (victim.read_text() == "precious") if exists else not victim.exists()
    assert (tree / FOLDER / name).is_symlink()
    CliRunner().invoke(main, ["clean"])
    assert (victim.read_text() == "precious") if exists else not victim.exists()


@pytest.mark.parametrize("settings", ["", '[tool.trl-lint]\ncache-dir = "a/kept"\n'])
def test_a_cache_that_the_project_links_to_elsewhere_is_not_used(tree, settings):
    other = tree.parent / "other"
    other.mkdir()
    (other / ".gitignore").write_text("mine\n")
    (tree / "pyproject.toml").write_text(settings)
    (tree / ("a" if settings else FOLDER)).symlink_to(other)
    assert lint() == (1, [FOUND], [])
    assert sorted(path.name for path in other.iterdir()) == [".gitignore"]
    assert (other / ".gitignore").read_text() == "mine\n"
    (other / "trl-lint-mine.json").touch()
    CliRunner().invoke(main, ["clean"])
    assert (other / "trl-lint-mine.json").exists()


def test_a_cache_that_the_user_links_to_elsewhere_is_used(tree, monkeypatch):
    other = tree.parent / "other"
    other.mkdir()
    (tree.parent / "link").symlink_to(other)
    assert lint("--cache-dir", "../link", ".") == (1, [FOUND], [])
    assert list(other.glob("trl-lint-run-*"))


def test_a_project_that_is_reached_through_a_link_keeps_its_results(tree, monkeypatch):
    (tree.parent / "link").symlink_to(tree)
    monkeypatch.chdir(tree.parent / "link")
    assert lint() == (1, [FOUND], [])
    assert list((tree / FOLDER).glob("trl-lint-run-*"))


def test_a_file_of_the_users_in_the_cache_is_kept(tree):
    (tree / FOLDER).mkdir()
    (tree / FOLDER / ".gitignore").write_text("mine\n")
    assert lint() == (1, [FOUND], [])
    CliRunner().invoke(main, ["clean"])
    assert (tree / FOLDER / ".gitignore").read_text() == "mine\n"


@pytest.mark.parametrize("name", [".gitignore", "CACHEDIR.TAG"])
def test_a_pipe_in_the_cache_is_not_waited_for(tree, name):
    (tree / FOLDER).mkdir()
    os.mkfifo(tree / FOLDER / name)
    assert lint() == (1, [FOUND], [])
    CliRunner().invoke(main, ["clean"])
    assert (tree / FOLDER / name).is_fifo()


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_an_entry_that_is_no_file_holds_nothing(tree, kind):
    assert lint() == (1, [FOUND], [])
    entries = [*(tree / FOLDER).glob("*.json")]
    assert entries
    for entry in entries:
        whole = entry.rename(tree.parent / entry.name)
        os.utime(whole, (1, 1))
        if kind == "link":
            entry.symlink_to(whole)
        elif kind == "pipe":
            os.mkfifo(entry)
        else:
            (entry / "inside").mkdir(parents=True)
        assert cache.Cache(tree / FOLDER).load(entry.stem.removeprefix("trl-lint-")) is None
        assert whole.stat().st_mtime == 1
    assert lint() == (1, [FOUND], [])


def test_old_entries_go_though_one_is_a_folder(tree, monkeypatch):
    (tree / FOLDER / "trl-lint-old.json").mkdir(parents=True)
    os.utime(tree / FOLDER / "trl-lint-old.json", (1, 1))
    (tree / FOLDER / "trl-lint-older.json").touch()
    os.utime(tree / FOLDER / "trl-lint-older.json", (0, 0))
    monkeypatch.setattr(cache, "MAX_ENTRIES", 1)
    cache.Cache(tree / FOLDER).save("new", {})
    assert not (tree / FOLDER / "trl-lint-older.json").exists()
    assert (tree / FOLDER / "trl-lint-new.json").exists()


# --- paths that are not accessible ------------------------------------------------------------------------


def test_a_closed_folder_is_passed_over(ordinary_user):
    (ordinary_user / "locked").mkdir(mode=0)
    assert lint() == (1, [FOUND], ["locked: cannot read: Permission denied"])
    (ordinary_user / "t.py").unlink()
    code, found, said = lint()
    assert (code, found, said[0]) == (0, [], "locked: cannot read: Permission denied")


def test_a_closed_folder_that_was_asked_for(ordinary_user):
    (ordinary_user / "locked").mkdir(mode=0)
    assert lint("locked", "t.py")[0] == 2
    code, _, said = lint("locked/x.py")
    assert (code, said[0]) == (2, "locked/x.py: permission denied")


@pytest.mark.parametrize(
    "script",
    ["python locked/x.py\n", "cd locked && python x.py\n", "python -m locked.x\n", f"python {'a' * 300}.py\n"],
)
def test_a_launch_of_what_can_not_be_looked_at(ordinary_user, script):
    (ordinary_user / "locked").mkdir()
    (ordinary_user / "locked" / "x.py").write_text(BUG)
    (ordinary_user / "locked").chmod(0)
    (ordinary_user / "run.sh").write_text("export CUDA_VISIBLE_DEVICES=0,1\n" + script)
    (ordinary_user / "README.md").write_text(f"```bash\nCUDA_VISIBLE_DEVICES=0,1 {script}```\n")
    code, found, said = lint("run.sh", "README.md", "t.py")
    assert (code, found, said) == (1, [FOUND], [])


def test_an_import_whose_name_is_too_long(tree):
    (tree / "t.py").write_text(f"{BUG}import {'a' * 260}\nfrom {'b' * 260} import c\nc(accelerator)\n")
    assert lint() == (1, [FOUND], [])


def test_an_import_from_a_closed_folder(ordinary_user):
    (ordinary_user / "locked").mkdir()
    (ordinary_user / "locked" / "x.py").write_text(BUG)
    (ordinary_user / "locked").chmod(0)
    (ordinary_user / "t.py").write_text(BUG + "from locked.x import C\nC(accelerator)\n")
    assert lint("t.py") == (1, [FOUND], [])


def test_a_gitignore_that_can_not_be_read(ordinary_user):
    (ordinary_user / ".gitignore").write_text("x\n")
    (ordinary_user / ".gitignore").chmod(0)
    assert lint() == (1, [FOUND], [".gitignore: not read: Permission denied"])


def test_a_gitignore_of_megabytes_is_not_read(tree):
    (tree / ".gitignore").write_bytes(b"*.py\n" * 300_000)
    assert lint() == (1, [FOUND], [".gitignore: not read: larger than 1,000,000 bytes"])
    (tree / ".gitignore").write_bytes(b"*.py\n" * 6_000)
    assert lint() == (1, [FOUND], [".gitignore: not read: more than 5,000 patterns"])
    (tree / "pyproject.toml").write_text(f"[tool.trl-lint]\nexclude = {['a'] * 6_000}\n")
    code, _, said = lint()
    assert (code, said) == (2, ["trl-lint: exclude: more than 5,000 patterns"])


def test_a_name_that_is_no_text_beside_others(tree):
    for name in (b"\xff.py", b"\xfe.py"):
        with open(os.path.join(os.fsencode(tree), name), "w") as file:
            file.write(BUG)
    (tree / "user.py").write_text("from accelerate import Accelerator\nimport t\n")
    shown = CliRunner().invoke(main, ["--no-cache", "--output-format=concise", "t.py", os.fsdecode(b"\xff.py")])
    assert (shown.exit_code, shown.stderr, shown.stdout.count("TRL001")) == (1, "", 2)


def test_more_nested_folders_than_calls(tree):
    assert lint() == (1, [FOUND], [])  # do late imports now, which are nested as well
    (most, calls), deepest = (sys.getrecursionlimit(), 300), os.path.join(*"d" * 320)
    subprocess.run(["mkdir", "-p", deepest], check=True)
    (tree / deepest / "t.py").write_text(BUG)
    sys.setrecursionlimit(calls)
    try:
        assert list(find_files([Path()])) == [Path(deepest, "t.py"), Path("t.py")]
        for _ in range(2):  # analysed, then from the cache
            code, found, said = lint()
            assert (code, len(found), said) == (1, 2, [])
    finally:
        sys.setrecursionlimit(most)
        subprocess.run(["rm", "-rf", "d"], check=True)  # shutil's is recursive


def test_folders_nested_beyond_what_a_path_can_say(tree):
    name = "d" * 250
    here = os.open(".", os.O_RDONLY)
    try:
        for _ in range(20):
            os.mkdir(name)
            os.chdir(name)
        os.fchdir(here)
        code, found, said = lint()
        assert (code, found, len(said)) == (1, [FOUND], 1)
        assert said[0].endswith(": cannot read: File name too long")
    finally:
        os.fchdir(here)
        os.close(here)
        subprocess.run(["rm", "-rf", name], check=True)


# --- what is not a file -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.py", "run.sh", "README.md"])
def test_a_pipe_is_not_waited_for(tree, name):
    os.mkfifo(tree / name)
    assert lint() == (1, [FOUND], [])
    code, _, said = lint(name)
    assert (code, said[0]) == (2, f"{name}: cannot read: not a regular file")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_not_read(tree, device):
    (tree / "x.py").symlink_to(device)
    assert lint() == (1, [FOUND], [])
    code, _, said = lint("x.py")
    assert (code, said[0]) == (2, "x.py: cannot read: not a regular file")


@pytest.mark.skipif(not os.path.exists("/proc/kmsg"), reason="Linux")
def test_a_file_of_the_kernel_is_not_waited_for(tree):
    (tree / "x.py").symlink_to("/proc/kmsg")
    code, found, _ = lint()
    assert (code in (1, 2), found) == (True, [FOUND])  # a user who is not root can't even open it


def test_pipes_in_the_place_of_settings(tree):
    for name in (".gitignore", "pyproject.toml"):
        (tree / name).unlink(missing_ok=True)
        os.mkfifo(tree / name)
    assert lint() == (1, [FOUND], [])
    code, _, said = lint("--config", "pyproject.toml")
    assert (code, said) == (2, ["trl-lint: pyproject.toml: cannot read: not a regular file"])


def test_settings_that_are_nested_too_deeply(tree):
    (tree / "pyproject.toml").write_text("x=" + "[" * 100_000)
    code, _, said = lint()
    assert (code, said) == (2, [f"trl-lint: {tree / 'pyproject.toml'}: cannot parse: nested too deeply"])
    with pytest.raises(trl_lint.config.ConfigError):
        load_settings(tree)


def test_a_pipe_is_no_import(tree):
    os.mkfifo(tree / "base.py")
    (tree / "t.py").write_text(BUG + "from base import C\nC(accelerator)\n")
    assert lint("t.py") == (1, [FOUND], [])


def test_a_file_is_read_up_to_its_size(tree):
    assert files.read(tree / "t.py") == BUG.encode()
    assert files.head(tree / "t.py", 4) == b"from"
    with pytest.raises(OSError, match="larger than 10 bytes"):
        files.read(tree / "t.py", 10)
    with pytest.raises(IsADirectoryError):
        files.read(tree)
    (tree / "link").symlink_to("t.py")
    assert files.read(tree / "link") == BUG.encode()
    with pytest.raises(OSError, match="not a regular file"):
        files.read(tree / "link", follow=False)


# --- contents that are too large --------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "said"), [(b"- x\n", []), (b"- python\n", ["not looked at for launch commands"])])
def test_a_large_launch_file_is_never_held_whole(tree, monkeypatch, text, said):
    (tree / "big.yml").write_bytes(text + b"#" * 3_000_000 + b"\n")
    read: list[str] = []
    before = files.read

    def watched(path, limit=files.LARGEST, **more):
        read.extend([str(path)] if limit >= 3_000_000 else [])  # a file above the size limit is not read
        return before(path, limit, **more)

    monkeypatch.setattr(files, "read", watched)
    code, found, shown = lint()
    assert (code, found) == (1, [FOUND])
    assert not any(path.endswith("big.yml") for path in read)
    assert [line.partition(": ")[2].partition(":")[0] for line in shown] == said


def test_contents_that_do_not_matter_are_not_kept(tree):
    from trl_lint.linter import runner
    from trl_lint.linter.linter import Linter
    from trl_lint.rules import all_rules

    (tree / "other.py").write_text("print('nothing')\n")
    linter = Linter(Settings(), [tree], all_rules())
    results = {each.path.name: each.source for each in runner.run(find_files([Path()]), linter, runner.check)}
    assert results == {"other.py": b"", "t.py": BUG.encode()}


# --- everywhere -------------------------------------------------------------------------------------------


def test_no_module_asks_a_path_what_may_raise():
    """`Path.is_file` and similar methods raise for long names and in folders without permissions; `os.path` returns
    False.
    """
    asking = {"is_file", "is_dir", "exists", "is_symlink", "iterdir", "read_text"}
    package = Path(trl_lint.__file__).parent
    found = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in package.rglob("*.py")
        if "verify" not in path.parts and "fixtures" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in asking
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "entry")
        if ast.unparse(node.func) not in ("os.path.exists", "self.folder.iterdir")
    ]
    assert found == []


def test_linting_imports_no_more_for_it():
    command = "import sys, trl_lint.files; print(sorted(each for each in sys.modules if each.startswith('trl_lint')))"
    shown = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "['trl_lint', 'trl_lint.files']"
