"""`trl_lint.check`: the Python interface finds the same as the command line, and is loaded on access."""

from __future__ import annotations

import gc
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import trl_lint
from trl_lint import Applicability, ConfigError, Finding, LintError, Settings, check
from trl_lint.frontends.cli import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
BROKEN = "def f(accelerator, loss):\n    return accelerator.gather(loss.item()){comment}\n"
IMPORT = "from accelerate import Accelerator\n"


def write(path: Path, comment: str = "") -> Path:
    """A file with one finding of TRL001, in its third line, and a comment at the end of that line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(IMPORT + BROKEN.replace("(accelerator,", "(accelerator: Accelerator,").format(comment=comment))
    return path


def places(findings: list[Finding]) -> list[tuple[str, int, str]]:
    return [(Path(finding.path).name, finding.start.line, finding.code) for finding in findings]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def row(finding: Finding) -> dict:
    edits = [
        [each.content, each.start.line, each.start.column, each.end.line, each.end.column]
        for each in (finding.fix.edits() if finding.fix else ())
    ]
    return {
        "code": finding.code,
        "path": finding.path,
        "start": [finding.start.line, finding.start.column],
        "message": finding.message,
        "applicability": finding.fix and finding.fix.applicability.value,
        "edits": edits,
    }


def shown(printed: dict) -> dict:
    fix = printed["fix"]
    edits = [
        [each["content"], *each["location"].values(), *each["end_location"].values()]
        for each in (fix["edits"] if fix else ())
    ]
    return {
        "code": printed["code"],
        "path": printed["filename"],
        "start": list(printed["location"].values()),
        "message": printed["message"],
        "applicability": fix and fix["applicability"],
        "edits": edits,
    }


@pytest.mark.parametrize("rule", ["item_before_gather", "bare_python_launch"])
def test_it_finds_what_the_terminal_finds(folder, rule):
    project = shutil.copytree(FIXTURES / rule, folder / rule)  # where it is, each run would read the whole repository
    done = CliRunner().invoke(main, ["--isolated", "--output-format=json", str(project)])
    printed = [shown(each) for each in json.loads(done.stdout)]
    assert len(printed) > 5
    assert [row(each) for each in check(project, Settings())] == printed


@pytest.mark.parametrize("kind", [str, Path, lambda path: [path], lambda path: iter([str(path)])])
def test_a_path_or_several(folder, kind):
    path = write(folder / "x.py")
    assert places(check(kind(path))) == [("x.py", 3, "TRL001")]


def test_no_path():
    assert check([]) == []


def test_a_finding_is_whole(folder):
    (finding,) = check(write(folder / "x.py"))
    assert isinstance(finding, Finding)
    assert finding.path == str(folder / "x.py")
    assert finding.fix.applicability in Applicability


def test_comments_are_obeyed(folder):
    write(folder / "x.py", "  # noqa: TRL001")
    write(folder / "y.py", "  # noqa: TRL002")
    assert places(check(folder)) == [("y.py", 3, "TRL001"), ("y.py", 3, "TRL900")]
    assert places(check([folder / "x.py", folder / "y.py"])) == [("y.py", 3, "TRL001")]


def test_without_settings_those_of_the_folder_hold(folder):
    write(folder / "project" / "x.py")
    write(folder / "project" / "old" / "y.py")
    write(folder / "project" / "left_out" / "z.py")
    settings = '[tool.trl-lint]\nexclude = ["left_out"]\nper-file-ignores = { "old/*" = ["TRL001"] }\n'
    (folder / "project" / "pyproject.toml").write_text(settings)
    assert places(check("project")) == [("x.py", 3, "TRL001")]
    assert places(check(["project/x.py", "project/old/y.py"])) == [("x.py", 3, "TRL001")]


def test_given_settings_count_alone(folder):
    write(folder / "x.py")
    (folder / "pyproject.toml").write_text('[tool.trl-lint]\nignore = ["TRL001"]\n')
    assert check("x.py") == []
    assert places(check("x.py", Settings())) == [("x.py", 3, "TRL001")]
    assert check("x.py", Settings(select=("TRL002",))) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (Settings(select=("TRL999",)), "unknown rule `TRL999`"),
        (Settings(reducers=(("mylib.mean", "average"),)), "reducers: `mylib.mean` can't be `average`"),
        (Settings(guards=("is_main",)), "guards: `is_main` is not a dotted name"),
    ],
)
def test_settings_nobody_can_act_on(folder, settings, said):
    write(folder / "x.py")
    with pytest.raises(ConfigError, match=said):
        check("x.py", settings)


def test_a_wrong_table_in_the_folder(folder):
    write(folder / "x.py")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nselct = []\n")
    with pytest.raises(ConfigError, match="unknown key `selct`"):
        check("x.py")


def test_what_could_not_be_linted_is_said_with_what_was_found(folder):
    write(folder / "a.py")
    (folder / "b.py").write_text(IMPORT + "accelerator = Accelerator()\naccelerator.gather(\n")
    write(folder / "c.py")
    with pytest.raises(LintError) as caught:
        check(["a.py", "b.py", "gone.py", "c.py"])
    unparsed, gone = caught.value.problems
    assert unparsed.startswith("b.py:3:") and "cannot parse" in unparsed
    assert gone == "gone.py: no such file or directory"
    assert str(caught.value) == f"{unparsed}\n{gone}"
    assert places(caught.value.findings) == [("a.py", 3, "TRL001"), ("c.py", 3, "TRL001")]


def test_a_file_that_is_named_must_be_understood(folder):
    (folder / "x.py").write_text("def\n")
    assert check(folder) == []
    with pytest.raises(LintError, match=r"x\.py:1:.*cannot parse"):
        check(folder / "x.py")


def test_nothing_is_written(folder, monkeypatch):
    monkeypatch.delenv("TRL_LINT_NO_CACHE", raising=False)
    path = write(folder / "x.py")
    check(folder)
    assert list(folder.iterdir()) == [path]


def test_what_was_parsed_can_be_collected(folder):
    write(folder / "x.py")
    gc.unfreeze()  # objects of earlier tests
    check("x.py")
    assert gc.get_freeze_count() == 0


def test_what_the_caller_has_frozen_stays_so(folder):
    write(folder / "x.py")
    gc.freeze()
    try:
        check("x.py")
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_importing_the_package_imports_nothing_else():
    script = "import sys; before = set(sys.modules); import trl_lint; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "['trl_lint']\n"


def test_the_names_of_the_package():
    assert set(trl_lint.__all__) <= set(dir(trl_lint))
    assert all(getattr(trl_lint, name) is not None for name in trl_lint.__all__)
    with pytest.raises(AttributeError, match="no attribute 'lint'"):
        trl_lint.lint  # noqa: B018
