"""Runs that only count, fix, or list what they would analyse; and what the last line says about the others."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from adopting import BUG, HEAD, PROGRAM, places, run
from markdowns import FENCE

FIXABLE = (
    "from accelerate import Accelerator\n\n\ndef train(model, loader):\n    accelerator = Accelerator()\n"
    "    model, loader = accelerator.prepare(model, loader)\n    for batch in loader:\n"
    "        loss = model(**batch).loss\n"
    '        accelerator.log({"a": accelerator.gather(loss.item())})\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- statistics


def test_counts(folder):
    (folder / "a.py").write_text(f"{HEAD}        {BUG}\n        {BUG}\nx = 1  # noqa: mean-of-mean\n")
    (folder / "b.py").write_text(FIXABLE)
    found = places("--isolated", ".")
    done = run("--isolated", "--statistics", ".")
    lines = done.out.splitlines()
    assert (done.code, done.err, len(found)) == (1, "", 4)
    assert lines[0].split()[:4] == ["2", "TRL003", "[*]", "unreduced-metric"]
    assert lines[0].endswith("2 with --fix") and lines[1].split()[:3] == ["1", "TRL001", "[*]"]
    assert lines[2].split() == ["1", "TRL900", "unused-noqa"]
    assert lines[3].startswith("Found 4 findings in 2 files") and lines[4] == "2 files analysed."
    rows = json.loads(run("--isolated", "--statistics", "--output-format=json", ".").out)
    assert rows[0] == {"code": "TRL003", "name": "unreduced-metric", "count": 2, "fixable": True, "fixable_count": 2}
    assert [(row["code"], row["fixable"]) for row in rows[1:]] == [("TRL001", True), ("TRL900", False)]


def test_nothing_to_count(folder):
    (folder / "a.py").write_text("x = 1\n")
    assert run("--isolated", "--statistics", ".") == (0, "0 files analysed, 1 skipped as irrelevant.\n", "")
    assert run("--isolated", "--statistics", "--output-format=json", ".").out == "[]\n"


# --- fixing


def test_only_fixing(folder):
    path = folder / "b.py"
    path.write_text(FIXABLE + "x = 1  # noqa: mean-of-mean\n")
    done = run("--isolated", "--fix-only", ".")
    assert done.code == 0
    assert done.out.startswith("Fixed 1 finding in 1 file:\n  b.py:9:") and "TRL900" not in done.out
    assert path.read_text() != FIXABLE
    assert run("--isolated", ".").code == 1


def test_only_fixing_shows_a_diff_and_changes_nothing(folder):
    (folder / "b.py").write_text(FIXABLE)
    done = run("--isolated", "--fix-only", "--diff", ".")
    assert done.code == 1 and done.out.startswith("--- b.py\n")
    assert (folder / "b.py").read_text() == FIXABLE


@pytest.mark.parametrize(("text", "codes"), [(FIXABLE, (0, 1)), ("x = 1\n", (0, 0)), (PROGRAM[:0], (0, 0))])
def test_the_exit_code_tells_that_something_was_fixed(folder, text, codes):
    for option, code in zip(([], ["--exit-non-zero-on-fix"]), codes, strict=True):
        (folder / "b.py").write_text(text)
        assert run("--isolated", "--fix", *option, ".").code == code
        assert run("--isolated", "--fix", *option, ".").code == 0


# --- what would be analysed


def test_files(folder):
    for name in ("a.py", "b.sh", "c.txt", "build/d.py", "left_out/e.py", "src/f.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nexclude = ['left_out']\n")
    done = run("--show-files")
    assert (done.code, done.out.splitlines(), done.err) == (0, ["a.py", "b.sh", "pyproject.toml", "src/f.py"], "")
    assert run("--show-files", "--ignore=TRL004").out.splitlines() == ["a.py", "src/f.py"]
    gone = run("--show-files", "src", "gone.py")
    assert (gone.code, gone.out, gone.err) == (2, "src/f.py\n", "gone.py: no such file or directory\n")


def test_what_can_not_be_combined():
    for one, other in (("--show-files", "--fix"), ("--show-settings", "--diff"), ("--statistics", "--diff")):
        done = run(one, other)
        assert done.code == 2 and f"{one} can't be combined with {other}" in done.err


# --- the last line


def test_what_is_not_shown_is_counted(folder):
    (folder / "a.py").write_text(PROGRAM.replace(BUG, f"{BUG}  # noqa: TRL003"))
    (folder / "b.py").write_text("x = 1\n")
    (folder / "c.yaml").write_text("run: [python\n")
    done = run("--isolated", ".")
    assert done.out == (
        "All clear: no findings.\n1 file analysed, 1 skipped as irrelevant, 1 not understood; "
        "1 finding silenced by comments.\n"
    )


def test_what_is_left_out_is_counted(folder):
    for name in ("a.py", "old/b.py", "old/c.py", "d.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(PROGRAM.replace(BUG, "pass"))
    (folder / "trl-lint.toml").write_text("exclude = ['old']\n")
    (folder / ".gitignore").write_text("d.py\n")
    assert run(".").out.endswith("1 file analysed, 2 excluded by `exclude` or .gitignore.\n")
    assert run("--no-respect-gitignore", ".").out.endswith("2 files analysed, 1 excluded by `exclude` or .gitignore.\n")
    assert run("--force-exclude", "d.py", "a.py").out.endswith(
        "1 file analysed, 1 excluded by `exclude` or .gitignore.\n"
    )


# --- typing errors, and shell completion -------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["chekc", "."], "did you mean `check`?"),
        (["--selct=TRL001", "."], "--select"),
        (["check", "--statistic"], "--statistics"),
        (["rule", "unreduced-metrics"], "did you mean `unreduced-metric`?"),
    ],
)
def test_slips_are_told(args, said):
    done = subprocess.run([sys.executable, "-m", "trl_lint", *args], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


def completed(*words: str) -> list[str]:
    """The completions for the last of some words after `trl-lint`."""
    environment = {
        **os.environ,
        "_TRL_LINT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["trl-lint", *words]),
        "COMP_CWORD": str(len(words)),
    }
    code = "import sys; sys.argv[0] = 'trl-lint'; from trl_lint.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert not done.stderr
    return [line.partition(",")[2] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("rule", "TRL00"), ["TRL001", "TRL002", "TRL003", "TRL004", "TRL005", "TRL006", "TRL007", "TRL008", "TRL009"]),
        (("rule", "unre"), ["unreduced-metric", "unreduced-schedule-metric"]),
        (("check", "--select", "TRL001,dead"), ["TRL001,deadlock"]),
        (("--ignore", "was"), ["waste"]),
        (("check", "--extend-select", "unused"), ["unused-parameter", "unused-noqa"]),
        (("--add",), ["--add-noqa"]),
        (("ru",), ["rule", "rules"]),
        (("check", "--sta"), ["--statistics"]),
    ],
)
def test_shells_complete(words, offered):
    assert completed(*words) == offered


PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"


def test_the_lines_for_the_shells(tmp_path):
    """The lines that the page tells users to write; they are run in bash, for the other shells only the script is
    checked.
    """
    (tmp_path / "trl-lint").write_text(f"#!{sys.executable}\nfrom trl_lint.__main__ import main\nmain()\n")
    (tmp_path / "trl-lint").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    shells = [
        fence["text"] for fence in FENCE.finditer(PAGE.read_text(encoding="utf-8")) if "COMPLETE" in fence["text"]
    ]
    assert [re.search(r"=(\w+)_source", text)[1] for text in shells] == ["bash", "zsh", "fish"]
    script = f"{shells[0]}complete -p trl-lint"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout.rstrip().endswith(" trl-lint"), done.stderr
    for shell in ("zsh", "fish"):
        asked = {**environment, "_TRL_LINT_COMPLETE": f"{shell}_source"}
        done = subprocess.run(["trl-lint"], capture_output=True, text=True, env=asked, check=False)
        assert "trl-lint" in done.stdout and not done.stderr
