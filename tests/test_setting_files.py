"""Separate settings files, settings that extend another file, and how they are shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from adopting import BUG, PROGRAM, places, run

from trl_lint.config import load_settings, selection
from trl_lint.settings import ConfigError, Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["trl-lint.toml", ".trl-lint.toml"])
def test_a_file_of_its_own_needs_no_table(folder, name):
    write(folder / name, "ignore = ['TRL001']\nreducers = { a.b = 'mean' }\n")
    assert load_settings(folder) == Settings(ignore=("TRL001",), reducers=(("a.b", "mean"),), root=folder)


def test_which_one_counts(folder):
    write(folder / "pyproject.toml", "[tool.trl-lint]\nignore = ['TRL001']\nexclude = ['x']\n")
    write(folder / "trl-lint.toml", "ignore = ['TRL002']\n")
    assert load_settings(folder) == Settings(ignore=("TRL002",), root=folder)
    write(folder / ".trl-lint.toml", "ignore = ['TRL003']\n")
    assert load_settings(folder).ignore == ("TRL003",)
    write(folder / "a" / "pyproject.toml", "[tool.trl-lint]\nignore = ['TRL005']\n")
    assert load_settings(folder / "a" / "b").ignore == ("TRL005",)
    assert load_settings(folder / "a", folder / "trl-lint.toml").ignore == ("TRL002",)


def test_what_is_taken_over(folder):
    write(folder / "shared" / "base-trl-lint.toml", "extend = '../top.toml'\nignore = ['TRL001']\nguards = ['a.b']\n")
    write(folder / "top.toml", "[tool.trl-lint]\nignore = ['TRL009']\npreview = true\nreducers = { 'a.c' = 'sum' }\n")
    write(folder / "trl-lint.toml", "extend = 'shared/base-trl-lint.toml'\nguards = ['x.y']\n")
    found = load_settings(folder)
    assert (found.ignore, found.preview, found.guards, found.reducers) == (
        ("TRL001",),
        True,
        ("x.y",),
        (("a.c", "sum"),),
    )
    assert found.root == folder


@pytest.mark.parametrize(
    ("text", "base", "said"),
    [
        ("extend = 'gone.toml'\n", "", "extend: {folder}/gone.toml: cannot read: No such file or directory"),
        ("extend = 'base.toml'\n", "x = 1\n", "extend: {folder}/base.toml: has no [tool.trl-lint] table"),
        ("extend = 'trl-lint.toml'\n", "", "extend: {folder}/trl-lint.toml extends this file itself"),
        ("extend = 3\n", "", "extend: must be the path of a file"),
        ("selct = []\n", "", "unknown key `selct`; did you mean `select`?"),
        ("select = 3\n", "", "select: Expected `array`, got `int`"),
        ("guards = ['a']\n", "", "guards: `a` is not a dotted name such as `mylib.dist.all_mean`"),
        ("[tool.trl-lint]\nselect = []\n", "", "unknown key `tool`"),
    ],
)
def test_what_can_not_be_acted_on_names_the_file(folder, text, base, said):
    path = write(folder / "trl-lint.toml", text)
    write(folder / "base.toml", base)
    with pytest.raises(ConfigError) as caught:
        load_settings(folder)
    assert str(caught.value).startswith(f"{path}: {said.format(folder=folder)}")


def test_what_is_wrong_in_a_file_that_is_taken_over_names_that_one(folder):
    base = write(folder / "base.toml", "[tool.trl-lint]\nguards = ['a']\nignore = ['TRL999']\n")
    write(folder / "trl-lint.toml", "extend = 'base.toml'\n")
    with pytest.raises(ConfigError, match=r"base\.toml: \[tool\.trl-lint\] guards: `a` is not a dotted name"):
        load_settings(folder)
    write(base, "[tool.trl-lint]\nignore = ['TRL999']\n")
    with pytest.raises(ConfigError, match=r"base\.toml: \[tool\.trl-lint\] ignore: unknown rule `TRL999`"):
        selection(load_settings(folder))


@pytest.mark.parametrize("key", ["select", "ignore", "extend-select"])
def test_an_unknown_rule_names_the_file(folder, key):
    path = write(folder / "trl-lint.toml", f"{key} = ['unreduced-metrics']\n")
    write(folder / "x.py", "x = 1\n")
    done = run(".")
    said = f"{key}: unknown rule `unreduced-metrics`; did you mean `unreduced-metric`?"
    assert (done.code, done.err) == (2, f"trl-lint: {path}: {said}\n")
    write(path, "")
    assert run(f"--{key}=unreduced-metrics", ".").err == f"trl-lint: {said.partition(': ')[2]}\n"


def test_severities_select(folder):
    crash = 'self.log({"shard/all": self.accelerator.gather(loss.item())})'
    write(folder / "train.py", PROGRAM.replace(BUG, f"{BUG}\n        {crash}"))
    assert places("--isolated", ".") == ["train.py:7:9: TRL003", "train.py:8:32: TRL001"]
    assert places("--isolated", "--select=error", ".") == ["train.py:8:32: TRL001"]
    assert places("--isolated", "--select=warning", ".") == ["train.py:7:9: TRL003"]
    assert places("--isolated", "--ignore=error", ".") == ["train.py:7:9: TRL003"]
    assert places("--isolated", "--select=TRL003", "--ignore=warning", ".") == ["train.py:7:9: TRL003"]
    assert places("--isolated", "--select=warning", "--ignore=wrong-number", ".") == []
    assert "did you mean `warning`?" in run("--isolated", "--select=warnin", ".").err


def test_shown_settings_can_be_pasted(folder):
    path = write(
        folder / "trl-lint.toml",
        "select = ['TRL0']\nignore = ['TRL001']\nexclude = ['a\\\\b\"']\ntarget-trl = '0.17.0'\n"
        "per-file-ignores = { 'tests/**' = ['ALL'] }\nreducers = { 'a.b' = 'mean' }\ntrainer-bases = ['a.C']\n",
    )
    done = run("--show-settings", "--ignore=TRL002", "--unsafe-fixes", "--output-format=text")
    assert (done.code, done.err) == (0, "")
    assert f'ignore = ["TRL001", "TRL002"]  # {path} and the command line\n' in done.out
    assert f'select = ["TRL0"]  # {path}\n' in done.out
    assert "unsafe-fixes = true  # the command line\n" in done.out
    assert "preview = false  # default\n" in done.out
    assert 'output-format = "text"  # the command line\n' in done.out
    assert "# target-transformers =  # default\n" in done.out
    pasted = write(folder / "pasted" / "pyproject.toml", done.out)
    assert load_settings(pasted.parent) == Settings(
        select=("TRL0",),
        ignore=("TRL001", "TRL002"),
        exclude=('a\\\\b"',),
        target_trl="0.17.0",
        unsafe_fixes=True,
        output_format="text",
        per_file_ignores=(("tests/**", ("ALL",)),),
        reducers=(("a.b", "mean"),),
        trainer_bases=(("a.C", "transformers.Trainer"),),
        root=pasted.parent,
    )
    assert tomllib.loads(run("--show-settings", "--isolated").out)["tool"]["trl-lint"]["select"] == ["DEFAULT"]


def test_shown_settings_are_those_of_the_file_that_is_named(folder):
    write(folder / "a" / "trl-lint.toml", "select = ['TRL999']\n")
    done = run("--show-settings", "a/x.py")
    assert (done.code, done.out) == (2, "") and "unknown rule `TRL999`" in done.err


def test_flake8_reads_them_too(folder):
    from forks import module

    write(folder / "train.py", PROGRAM)
    assert "TRL003" in module("flake8", ".", folder=folder).stdout
    write(folder / "trl-lint.toml", "ignore = ['TRL003']\n")
    assert "TRL003" not in module("flake8", ".", folder=folder).stdout
    write(folder / "a" / "train.py", PROGRAM.replace(BUG, f"{BUG};x = 1"))
    write(folder / "a" / "trl-lint.toml", "")
    assert module("flake8", "--select=TRL", ".", folder=folder).stdout.startswith("./a/train.py:7:9: TRL003")
