"""The command line: options, exit codes, output streams, and bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_linter import FakeLinter

from trl_lint import __version__, files
from trl_lint.frontends.cli import main
from trl_lint.linter import runner
from trl_lint.rules import all_rules

SUMMARY = "Found 1 finding in 1 file (1 fixable with --fix).\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder, and a linter that finds words."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("trl_lint.linter.linter.Linter", FakeLinter)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def call(*args: str, stdin: str | bytes | None = None):
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    return runs.invoke(main, list(args), input=stdin)


def text(*args: str, **rest):
    """A run with text output, as on a terminal; otherwise it would be concise."""
    return call("--output-format=text", *args, **rest)


def lint(*args: str, **rest) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a concise run."""
    done = call("--output-format=concise", *args, **rest)
    return done.exit_code, done.stdout, done.stderr


# What is printed, and the exit code


def test_clean(folder):
    (folder / "x.py").write_text("x = 1\n")
    done = text()
    assert (done.exit_code, done.stdout, done.stderr) == (0, "All clear: no findings.\n1 file analysed.\n", "")


@pytest.mark.parametrize("command", [(), ("check",)])
def test_findings(folder, command):
    (folder / "x.py").write_text("x = BUG\n")
    done = call(*command, "x.py", "--output-format", "concise")
    line = "x.py:1:5: TRL001 [*] [crash] item-before-gather: BUG is here\n"
    assert (done.exit_code, done.stdout, done.stderr) == (1, line + SUMMARY, "")


FRAME = "1 | x = BUG\n  |     ^^^\n"


def test_without_a_terminal_each_finding_is_a_line(folder):
    (folder / "x.py").write_text("x = BUG\n")
    assert call().stdout == lint()[1]
    assert FRAME in text().stdout
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\noutput-format = 'text'\n")
    assert FRAME in call().stdout


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no terminals here")
@pytest.mark.parametrize(("args", "framed"), [((), True), (("--output-format=concise",), False)])
def test_on_a_terminal_text_is_the_default_and_in_colour(folder, args, framed):
    (folder / "x.py").write_text("x = BUG\n")
    shown = on_a_terminal(*args)
    assert ("1 | " in shown, "\x1b[1;31mTRL001\x1b[0m" in shown) == (framed, framed)


def on_a_terminal(*args: str) -> str:
    """The output of a run on a new terminal."""
    ours, its = os.openpty()
    script = (
        "import trl_lint.linter.linter, trl_lint.frontends.cli; from fake_linter import FakeLinter\n"
        "trl_lint.linter.linter.Linter = FakeLinter; trl_lint.frontends.cli.main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "TERM": "xterm"}
    command = [sys.executable, "-c", script, "--no-cache", *args]
    with subprocess.Popen(command, stdout=its, stderr=its, stdin=its, env=environment) as done:
        os.close(its)
        pieces = []
        with suppress(OSError):  # Linux raises when the other end is closed
            while piece := os.read(ours, 10_000):
                pieces.append(piece)
    os.close(ours)
    assert done.returncode == 1
    return b"".join(pieces).decode()


def test_the_settings_choose_the_format_and_the_option_wins(folder):
    (folder / "x.py").write_text("x = 1\n")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\noutput-format = 'json'\n")
    assert call().stdout == "[]\n"
    assert call("--output-format=text").stdout.startswith("All clear: no findings.\n")


def test_exit_zero_is_for_findings_only(folder):
    (folder / "x.py").write_text("x = BUG\n")
    assert lint("--exit-zero")[0] == 0
    assert lint("--exit-zero", "gone.py", "x.py")[0] == 2


def test_no_python_files(folder):
    (folder / "x.txt").write_text("BUG\n")
    assert lint() == (0, "", "warning: no files to lint found under the given paths\n")


def test_noqa(folder):
    (folder / "x.py").write_text("x = BUG  # noqa: TRL001\ny = BUG  # noqa: TRL002\n")
    assert lint("x.py")[1].startswith("x.py:2:5: ")
    assert lint("x.py")[1].endswith(SUMMARY)


# Selection and settings


@pytest.mark.parametrize(
    ("args", "codes"),
    [
        ((), ["TRL001", "TRL002", "TRL003"]),
        (("--select", "TRL001,unreduced-metric"), ["TRL001", "TRL003"]),
        (("--select", "TRL001", "--select=TRL002"), ["TRL001", "TRL002"]),
        (("--ignore", "TRL0"), []),
        (("--select=TRL001", "--extend-select=TRL002"), ["TRL001", "TRL002"]),
    ],
)
def test_selection(folder, args, codes):
    (folder / "x.py").write_text("BUG\nHINT\nRISKY\n")
    rows = json.loads(call("--output-format=json", *args).stdout)
    assert [row["code"] for row in rows] == codes


@pytest.mark.parametrize(
    ("args", "codes"),
    [
        ((), ["TRL001"]),
        (("--isolated",), ["TRL001", "TRL002", "TRL003"]),
        (("--select=TRL002",), ["TRL002"]),
        (("--extend-select=TRL002",), ["TRL001", "TRL002"]),
        (("--ignore=TRL001",), []),
        (("--config=other.toml",), ["TRL003"]),
    ],
)
def test_the_command_line_is_laid_over_the_settings(folder, args, codes):
    (folder / "src").mkdir()
    (folder / "src" / "x.py").write_text("BUG\nHINT\nRISKY\n")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nselect=['TRL001','TRL002']\nignore=['TRL002']\n")
    (folder / "other.toml").write_text("[tool.trl-lint]\nselect = ['TRL003']\n")
    rows = json.loads(call("--output-format=json", "src", *args).stdout)
    assert [row["code"] for row in rows] == codes


def test_settings_say_what_to_exclude(folder):
    (folder / "gen").mkdir()
    (folder / "gen" / "x.py").write_text("BUG\n")
    (folder / "y.py").write_text("BUG\n")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nexclude = ['gen']\n")
    assert lint()[1].startswith("y.py:1:1")
    assert lint("gen/x.py")[0] == 1


def test_gitignore_can_be_put_aside(folder):
    (folder / ".gitignore").write_text("x.py\n")
    (folder / "x.py").write_text("BUG\n")
    assert [lint()[0], lint("--no-respect-gitignore")[0]] == [0, 1]


def test_forced_excludes(folder):
    (folder / "gen").mkdir()
    (folder / "gen" / "x.py").write_text("BUG\n")
    (folder / "out.py").write_text("BUG\n")
    (folder / "y.py").write_text("BUG\n")
    (folder / ".gitignore").write_text("out.py\n")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nexclude = ['gen']\n")
    named = ("gen/x.py", "out.py", "y.py")
    assert lint("--force-exclude", *named)[1].startswith("y.py:1:1: TRL001 [*]")
    assert lint("--force-exclude", *named)[1].endswith(SUMMARY)
    assert "Found 3 findings" in lint(*named)[1]
    assert "Found 2 findings" in lint("--force-exclude", "--no-respect-gitignore", *named)[1]


@pytest.mark.parametrize("name", ["gen/x.py", "out.py"])
def test_forced_excludes_hold_for_stdin(folder, name):
    (folder / ".gitignore").write_text("out.py\n")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nexclude = ['gen']\n")
    args = ("-", "--stdin-filename", name, "--force-exclude")
    assert lint(*args, stdin="BUG\n") == (0, "", "")
    assert call(*args, "--fix", stdin="BUG\n").stdout == "BUG\n"
    assert lint("-", "--force-exclude", stdin="BUG\n")[0] == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ("--select=item-before-gathr",),
            "unknown rule `item-before-gathr`; did you mean `item-before-gather`?",
        ),
        (("--ignore=QQQ",), "unknown rule `QQQ`"),
        (("--config=gone.toml",), "gone.toml: cannot read: No such file or directory"),
    ],
)
def test_what_can_not_be_acted_on_is_one_line(args, said):
    assert lint(*args) == (2, "", f"trl-lint: {said}\n")


@pytest.mark.parametrize("text", ["[tool.trl-lint]\nselect = 3\n", "[tool.trl-lint]\nselct = []\n", "[tool\n"])
def test_bad_settings(folder, text):
    (folder / "x.py").write_text("BUG\n")
    (folder / "pyproject.toml").write_text(text)
    code, out, err = lint()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"trl-lint: {folder / 'pyproject.toml'}: ")


@pytest.mark.parametrize(
    "args", [("--nonsense",), ("--output-format=xml",), ("-", "x.py"), ("--isolated", "--config=x")]
)
def test_bad_options(args):
    done = call(*args)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: " in done.stderr


# Bad input: one line each, and the other files are linted


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b"\xff BUG\n",
            "a.py:1:1: cannot parse: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
        (b"(((\n", "a.py:1:2: cannot parse: unexpected end"),
        (b"CRASH\n", "a.py: internal error: KeyError: 'some\\nkey' (please report it)"),
    ],
)
def test_one_bad_file_does_not_hide_the_others(folder, content, said):
    (folder / "a.py").write_bytes(content)
    (folder / "b.py").write_text("BUG\n")
    code, out, err = lint()
    assert (code, err) == (2, said + "\n")
    assert out.startswith("b.py:1:1: TRL001")


def test_paths_that_are_not_there(folder):
    (folder / "b.py").write_text("BUG\n")
    code, out, err = lint("gone.py", "b.py")
    assert (code, err) == (2, "gone.py: no such file or directory\n")
    assert out.startswith("b.py:1:1")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_permissions(folder):
    (folder / "a.py").write_text("BUG\n")
    (folder / "a.py").chmod(0)
    assert lint() == (2, "", "a.py: cannot read: Permission denied\n")


def test_a_file_that_can_not_be_read(folder, monkeypatch):
    (folder / "a.py").write_text("BUG\n")

    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(files, "read", refuse)
    assert lint("--isolated") == (2, "", "a.py: cannot read: Permission denied\n")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"# coding: latin-1\n", b"\r\n\r\n", b"\x0c"])
def test_odd_but_fine(folder, content):
    (folder / "a.py").write_bytes(content)
    assert lint() == (0, "", "")


def test_a_fix_that_can_not_be_built_is_an_internal_error(folder, monkeypatch):
    (folder / "a.py").write_text("BUG\n")
    monkeypatch.setattr("trl_lint.reports.json._fix", lambda fix: 1 / 0)
    done = call("--output-format=json")
    assert (done.exit_code, done.stdout) == (2, "[]\n")
    assert done.stderr == "a.py: internal error: ZeroDivisionError: division by zero (please report it)\n"


def test_whatever_fails_there_is_no_traceback(monkeypatch):
    def fail(*args, **options):
        raise RuntimeError("out\nof luck")

    monkeypatch.setattr("trl_lint.linter.files.discovery.find_files", fail)
    assert lint() == (2, "", "trl-lint: internal error: RuntimeError: out of luck (please report it)\n")


def test_interrupted(monkeypatch):
    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("trl_lint.linter.files.discovery.find_files", interrupt)
    assert lint()[0] == 130


# Fixing


def test_fix(folder):
    path = folder / "x.py"
    path.write_bytes(b"x = BUG\r\ny = RISKY\r\n")
    path.chmod(0o751)
    code, out, err = lint("--fix")
    assert (code, err) == (1, "")
    assert out == (
        "x.py:2:5: TRL003 [wrong-number] unreduced-metric: RISKY is here\n"
        "Fixed 1 finding in 1 file:\n  x.py:1:5: TRL001 item-before-gather\n"
        "Found 1 finding in 1 file (1 with --unsafe-fixes).\n"
    )
    assert path.read_bytes() == b"x = good\r\ny = RISKY\r\n"
    assert path.stat().st_mode & 0o777 == 0o751
    assert [entry.name for entry in folder.iterdir()] == ["x.py"]


def test_fix_with_unsafe_fixes(folder):
    (folder / "x.py").write_text("x = BUG\ny = RISKY\n")
    assert lint("--fix", "--unsafe-fixes")[0] == 0
    assert (folder / "x.py").read_text() == "x = good\ny = good\n"


def test_settings_may_allow_unsafe_fixes_and_the_command_line_forbid_them(folder):
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nunsafe-fixes = true\n")
    (folder / "x.py").write_text("RISKY\n")
    assert [lint("--fix", "--no-unsafe-fixes")[0], lint("--fix")[0]] == [1, 0]


def test_what_was_withheld_is_said(folder):
    (folder / "x.py").write_text("BUG  # WITHHOLD\n")
    assert "Withheld 1 fix:\n  x.py:1:1: TRL001 item-before-gather: it adds another\n" in lint("--fix")[1]


def test_a_fix_may_not_touch_what_a_comment_silences(folder):
    (folder / "x.py").write_text("BUG  # noqa\n")
    code, _, err = lint("--fix")
    assert (code, "a fix changes a silenced finding" in err) == (2, True)
    assert (folder / "x.py").read_text() == "BUG  # noqa\n"


def test_a_link_stays_a_link(folder):
    (folder / "real.txt").write_text("BUG\n")
    (folder / "x.py").symlink_to("real.txt")
    assert lint("--fix")[0] == 0
    assert (folder / "x.py").is_symlink()
    assert (folder / "real.txt").read_text() == "good\n"


def test_a_file_that_changes_meanwhile_is_left_alone(folder, monkeypatch):
    path = folder / "x.py"
    path.write_text("BUG\n")
    fix = FakeLinter.fix

    def fix_while_the_user_types(self, *args, **options):
        path.write_text("BUG  # typed\n")
        return fix(self, *args, **options)

    monkeypatch.setattr(FakeLinter, "fix", fix_while_the_user_types)
    said = "x.py: not fixed: the file has changed since it was read\n"
    assert lint("--fix") == (2, "", said)
    assert path.read_text() == "BUG  # typed\n"


def test_a_file_that_can_not_be_written_is_left_whole(folder, monkeypatch):
    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    (folder / "x.py").write_text("BUG\n")
    monkeypatch.setattr(runner.os, "replace", refuse)
    status, found, said = lint("--fix")
    assert (status, said) == (2, "x.py: not fixed: cannot write: Permission denied\n")
    assert found.startswith("x.py:1:1: TRL001")
    assert [(entry.name, entry.read_text()) for entry in folder.iterdir()] == [("x.py", "BUG\n")]


def test_diff(folder):
    (folder / "x.py").write_bytes(b"a = '\xc3\xa9'\r\nx = BUG")
    (folder / "y.py").write_text("RISKY\n")
    done = call("--diff")
    assert done.exit_code == 1
    assert done.stdout_bytes == (
        b"--- x.py\n+++ x.py\n@@ -1,2 +1,2 @@\n a = '\xc3\xa9'\r\n"
        b"-x = BUG\n\\ No newline at end of file\n+x = good\n\\ No newline at end of file\n"
    )
    assert done.stderr == (
        "Would fix 1 finding in 1 file:\n  x.py:2:5: TRL001 item-before-gather\n"
        "1 finding would remain; run without --diff to see it.\n"
    )
    assert (folder / "x.py").read_bytes() == b"a = '\xc3\xa9'\r\nx = BUG"


def test_diff_exit_codes(folder):
    (folder / "y.py").write_text("RISKY\n")
    codes = [lint(*args)[0] for args in (["--diff"], ["--diff", "--unsafe-fixes"], ["--diff", "--fix", "gone"])]
    assert codes == [0, 1, 2]
    assert lint("--diff", "--unsafe-fixes", "--exit-zero")[0] == 0


def test_diff_is_a_patch(folder):
    (folder / "x.py").write_bytes(b"# \x0c \xe2\x80\xa8 \r here\nx = BUG")
    patch = call("--diff").stdout_bytes
    done = subprocess.run(["git", "apply", "-p0", "-"], cwd=folder, input=patch, check=False)
    assert done.returncode == 0
    assert (folder / "x.py").read_bytes() == b"# \x0c \xe2\x80\xa8 \r here\nx = good"


# Standard input


def test_stdin():
    assert lint("-", stdin="BUG\n") == (
        1,
        "-:1:1: TRL001 [*] [crash] item-before-gather: BUG is here\n" + SUMMARY,
        "",
    )
    assert lint("-", "--stdin-filename=a/b.py", stdin="BUG\n")[1].startswith("a/b.py:1:1: ")
    assert lint("-", stdin="BUG  # noqa\n") == (0, "", "")


def test_stdin_takes_the_settings_of_the_file_it_stands_for(folder):
    (folder / "a").mkdir()
    (folder / "a" / "pyproject.toml").write_text("[tool.trl-lint]\nignore = ['TRL001']\n")
    assert [lint("-", *name, stdin="BUG\n")[0] for name in ([], ["--stdin-filename=a/b.py"])] == [1, 0]


def test_fixing_stdin():
    done = call("--fix", "-", "--output-format=concise", stdin="x = BUG\ny = HINT\n")
    assert (done.exit_code, done.stdout) == (1, "x = good\ny = HINT\n")
    assert done.stderr.startswith("-:2:5: TRL002 [crash] wrapped-model-attribute")


@pytest.mark.parametrize("content", [b"(((\n", b"CRASH", b"\xff BUG\r\n", b"harmless"])
def test_fixing_stdin_never_loses_the_code(content):
    done = call("--fix", "-", stdin=content)
    assert (done.exit_code, done.stdout_bytes) == (0 if content == b"harmless" else 2, content)


def test_diff_of_stdin():
    done = call("--diff", "-", "--stdin-filename=a.py", stdin="BUG\n")
    assert (done.exit_code, done.stdout) == (1, "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-BUG\n+good\n")


def test_a_reader_that_has_seen_enough(folder):
    (folder / "x.py").write_text("x = 1\n")
    reading, writing = os.pipe()
    os.close(reading)
    script = "from trl_lint.frontends.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=writing, stderr=subprocess.PIPE, cwd=folder, check=False
    )
    os.close(writing)
    assert b"Traceback" not in done.stderr
    assert b"BrokenPipe" not in done.stderr


# Colour, the other commands, start-up


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [
        ({}, False),
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "0"}, False),
        ({"CLICOLOR_FORCE": "1"}, True),
        ({"CLICOLOR_FORCE": "0"}, False),
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, True),
        ({"TERM": "dumb", "CLICOLOR_FORCE": "1"}, True),
    ],
)
def test_colour(folder, monkeypatch, environment, coloured):
    (folder / "x.py").write_text("BUG\n")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert ("\x1b[" in text().stdout) is coloured
    assert "\x1b[" in text("--color=always").stdout
    assert "\x1b[" not in text("--color=never").stdout
    assert text("--color=auto").stdout == text().stdout


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}])
def test_colour_on_a_terminal(monkeypatch, variables):
    from trl_lint.frontends.terminal import wants_colour

    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    terminal = type("Terminal", (), {"isatty": lambda self: True})()
    assert wants_colour(terminal) is not bool(variables)


def test_output_a_terminal_can_not_show(folder):
    (folder / "x.py").write_text("# é\nx = 1\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    script = (
        "import trl_lint.linter.linter, trl_lint.frontends.cli; from fake_linter import KINDS, FakeLinter\n"
        "KINDS['é'] = KINDS['BUG']; trl_lint.linter.linter.Linter = FakeLinter; trl_lint.frontends.cli.main()"
    )
    environment["PYTHONPATH"] = str(Path(__file__).parent)
    command = [sys.executable, "-c", script, "--output-format=text"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert b"1 | # \\xe9\n" in done.stdout


def test_rule():
    for rule in all_rules():
        pages = {call("rule", word).stdout for word in (rule.code, rule.code.lower(), rule.name)}
        (page,) = pages
        assert page.startswith(f"# {rule.name} ({rule.code})\n\n")
        assert page.endswith(f"\n\n{rule.documentation}\n")
        assert ("*Preview: off by default." in page) is rule.preview


def test_unknown_rule():
    done = call("rule", "TRL0001")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "trl-lint: unknown rule `TRL0001`; did you mean `TRL001`?\n"


def test_rules():
    lines = call("rules").stdout.splitlines()
    assert len(lines) == len(all_rules())
    for line, rule in zip(lines, all_rules(), strict=True):
        code, name, fix, summary = line.split(maxsplit=3)
        shown = f"{'preview: ' * rule.preview}{rule.summary}"
        assert (code, name, fix == "fix", summary) == (rule.code, rule.name, rule.has_fix, shown)


def test_version():
    assert call("--version").stdout == f"trl-lint {__version__}\n"


def test_help_shows_options_and_commands():
    text = call("--help").stdout
    for word in ("--fix", "--diff", "--unsafe-fixes", "--stdin-filename", "rule ", "rules ", "check "):
        assert word in text


HEAVY = ("libcst", "rich", "pathspec", "msgspec", "torch")


@pytest.mark.parametrize("args", [["--version"], ["--isolated", "x.py"], ["rules"]])
def test_start_up_imports_nothing_heavy(folder, args):
    (folder / "x.py").write_text("print('no trainer here')\n")
    script = (
        "import sys; from trl_lint.frontends.cli import main\n"
        "try: main()\n"
        f"finally: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


@pytest.mark.parametrize("how", ["--output-format=text", "--output-format=json", "--diff", "--fix"])
def test_neither_a_check_nor_a_fix_imports_what_only_codemods_need(folder, how):
    (folder / "x.py").write_text("from trl import SFTTrainer\nclass T(SFTTrainer):\n    pass\n")
    script = (
        "import sys; from trl_lint.frontends.cli import main\n"
        "try: main()\n"
        "finally: print({'libcst.matchers', 'libcst.codemod'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, how, "x.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "set()\n")


# What is nearly right


@pytest.mark.parametrize("word", ["chekc", "rul", "verfiy", "Check", "celan"])
def test_a_misspelled_command_lints_nothing(folder, word):
    (folder / "x.py").write_text("BUG\n")
    done = call(word, ".")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Error: `{word}` is neither a command nor a path; did you mean `" in done.stderr


@pytest.mark.parametrize(
    "words",
    [("--no-cache", "explain", "x.py:1"), ("--select", "ALL", "--quiet", "rules"), ("--isolated", "check", ".")],
)
def test_a_command_behind_options_is_told_to_come_first(folder, words):
    (folder / "x.py").write_text("BUG\n")
    done = call(*words)
    command = next(each for each in words if each in {"explain", "rules", "check"})
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Error: `{command}` is no path; a command comes first: `trl-lint {command} …`" in done.stderr


@pytest.mark.parametrize("words", [("--no-cache", "explain"), ("--no-cache", "."), ("--output-file", "rules", ".")])
def test_a_path_behind_options_may_be_named_like_a_command(folder, words):
    (folder / "explain").mkdir()
    (folder / "explain" / "x.py").write_text("BUG\n")
    assert call(*words).exit_code == 1


def test_what_exists_is_a_path_however_it_is_called(folder):
    (folder / "chekc").mkdir()
    (folder / "chekc" / "x.py").write_text("BUG\n")
    assert call("chekc").stdout.startswith("chekc/x.py:1:1: TRL001")


def test_a_path_that_is_not_there_is_no_command(folder):
    assert call("models/train.py").stderr == "models/train.py: no such file or directory\n"


def test_a_name_for_standard_input_reads_it(folder):
    (folder / "x.py").write_text("BUG\n")
    assert lint("--stdin-filename=a/b.py", stdin="RISKY\n")[1].startswith("a/b.py:1:1: TRL003")
    done = call("--stdin-filename=a/b.py", "--fix", "--output-format=concise", stdin="BUG\n")
    assert (done.exit_code, done.stdout) == (0, "good\n")
    assert (folder / "x.py").read_text() == "BUG\n"


def test_a_name_for_standard_input_beside_paths(folder):
    (folder / "x.py").write_text("BUG\n")
    done = call("x.py", "--stdin-filename=a.py", stdin="BUG\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: --stdin-filename can't be combined with paths" in done.stderr


@pytest.mark.parametrize("table", ["tool.trl_lint", "tool.trllint", 'tool."trl lint"', "tool.TRL-Lint", "trl-lint"])
def test_a_misspelled_table_is_said(folder, table):
    (folder / "x.py").write_text("BUG\n")
    (folder / "pyproject.toml").write_text(f"[{table}]\nignore = ['TRL001']\n")
    said = f"trl-lint: {folder / 'pyproject.toml'}: [{table}] is not read; did you mean `[tool.trl-lint]`?\n"
    assert lint() == (2, "", said)


@pytest.mark.parametrize("table", ["tool.trl", "tool.ruff.lint", "tool.lint", "tool.trl-linked-list", "project"])
def test_tables_of_others_are_theirs(folder, table):
    (folder / "x.py").write_text("x = 1\n")
    (folder / "pyproject.toml").write_text(f"[{table}]\nignore = ['TRL001']\n")
    assert lint() == (0, "", "")


# What was analysed


def test_the_last_line_says_what_was_looked_at(folder):
    (folder / "a.py").write_text("x = BUG\n")
    (folder / "b.py").write_text("harmless\n")
    (folder / "c.py").write_text("(((\n")
    (folder / "d.py").write_text("x = 1\n")
    last = "2 files analysed, 1 skipped as irrelevant, 1 not understood."
    assert text(".").stdout.splitlines()[-2:] == [SUMMARY.strip(), last]
    assert text("d.py").stdout == "All clear: no findings.\n1 file analysed.\n"
    assert text("b.py", "d.py").stdout == "All clear: no findings.\n1 file analysed, 1 skipped as irrelevant.\n"
    # Nothing is known about a file that was not analysed.
    assert text("b.py").stdout == "0 files analysed, 1 skipped as irrelevant.\n"
    assert text("c.py").stdout == "0 files analysed, 1 not understood.\n"
    assert text("d.py", "gone.py").stdout == "1 file analysed, 1 not understood.\n"
    assert text("-", "--stdin-filename=b.py", stdin="harmless\n").stdout.startswith("0 files analysed, 1 skipped")


def test_other_formats_say_nothing_of_it(folder):
    (folder / "d.py").write_text("x = 1\n")
    assert lint("d.py") == (0, "", "")
    assert call("--output-format=json", "d.py").stdout == "[]\n"
    assert (call("--diff", "d.py").stdout, call("--diff", "d.py").stderr) == ("", "")


UNREADABLE = {
    "notes.txt": (b"harmless prose", ": not looked at: neither Python nor a file that launch commands are read from"),
    "noise.py": (b"harmless \x9f\x00\xff\x12", ":1:1: cannot parse: "),
    "cut.py": (b"import trl  # harmless\nx = (\n", ":2:5: cannot parse: '(' was never closed"),
    "latin.py": (b"import trl  # harmless \xe9\n", ":1:1: cannot parse: "),
    "half.py": (b"# coding: utf-7\n# harmless +2AA-\n", ":1:1: cannot parse: "),
    "odd.py": (b"# coding: klingon\n# harmless\n", ":1:1: cannot parse: unknown encoding: klingon"),
    "noise.sh": (b"harmless \x9f\x00\xff", ": not looked at: a binary file"),
    "latin.sh": (b"# harmless \xe9\n", ": not looked at: its text is not UTF-8"),
    "README": (b"harmless prose", ":1:10: cannot parse: invalid syntax"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_was_asked_for_and_not_understood_is_no_all_clear(folder, name):
    content, said = UNREADABLE[name]
    (folder / name).write_bytes(content)
    code, out, err = lint(name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(name + said)
    assert text(name).stdout == "0 files analysed, 1 not understood.\n"
    assert json.loads(call("--output-format=json", name).stdout) == []
    assert lint("--stdin-filename", name, stdin=content)[0] == 2
    # It was not asked for: an irrelevant file is not parsed.
    (folder / "x.py").write_text("x = 1\n")
    assert lint(".") == (0, "", "")
    assert lint("--force-exclude", name) == (0, "", "")


@pytest.mark.parametrize(
    "content", [b"# harmless\n", b"", b"#!/usr/bin/env python3\nharmless\n", b"# coding: latin-1\n# harmless \xe9\n"]
)
@pytest.mark.parametrize("name", ["x.py", "script", "stub.pyi", "window.PYW"])
def test_what_was_asked_for_and_can_not_matter_is_passed_over(folder, name, content):
    (folder / name).write_bytes(content)
    assert lint(name) == (0, "", "")


def test_nothing_is_said_of_the_code_of_the_user_but_findings(folder):
    """Python's own warnings about a text that is only tokenized."""
    (folder / "x.py").write_text("harmless = 1 is 1, '\\d', ()()\n(\n")
    command = [sys.executable, "-W", "always", "-m", "trl_lint", "--isolated", "x.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "x.py:2:1: cannot parse: '(' was never closed\n")
    (folder / "x.py").write_text("import accelerate\naccelerate.Accelerator().gather(1 is 1, '\\d', ()())\n(\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "x.py:3:1: cannot parse: '(' was never closed\n")
