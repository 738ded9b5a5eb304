"""Output for hostile file names: no line is forged, no terminal is controlled, and JSON is valid."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from forks import module

from trl_lint import plain

ESCAPES = "\x1b[2J\x1b]0;OWNED\x07"
FORGED = "a\nforged.py:1:1: TRL999 here.py"
CODE = """from accelerate import Accelerator

accelerator = Accelerator()


def main(model, loader):
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        accelerator.log({"ESCAPES": model(**batch).loss.item()})
        accelerator.gather(model(**batch).loss.item())
"""
TRAINER = "from trl import SFTTrainer\ntrainer = SFTTrainer('tiny')\ntrainer.train()\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain `é` 日本", "plain `é` 日本"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[31m\x7f\x9b", "\\x1b[31m\\x7f\\x9b"),
        ("\u202eevil\u2066\u200b\u2028", "\\u202eevil\\u2066\\u200b\\u2028"),
        (os.fsdecode(b"\xff.py"), "\\xff.py"),
        ("\ud800\U000e0001", "\\ud800\\U000e0001"),
    ],
)
def test_lines(text, shown):
    assert plain.line(text) == shown


def test_strings_of_json_are_whole():
    made = plain.in_json({"\udcff": ["a\ud800b", "😀", ("é\x1b", None, 3)]})
    assert made == {"\ufffd": ["a\ufffdb", "😀", ["é\x1b", None, 3]]}


@pytest.mark.parametrize(
    "name", [b"a b.py", "é.py".encode(), b'a"b.py', b"a\\b.py", b"a\nb.py", b"\x1b[2J.py", b"\xff.py"]
)
def test_names_in_a_diff_are_those_of_git(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), name)
    with open(path, "wb") as file:
        file.write(b"old\n")
    head = plain.in_diff(name)
    patch = b"--- %s\n+++ %s\n@@ -1 +1 @@\n-old\n+new\n" % (head, head)
    assert head.decode().isprintable()
    subprocess.run(["git", "apply", "-p0", "-"], cwd=tmp_path, input=patch, check=True)
    with open(path, "rb") as file:
        assert file.read() == b"new\n"


def harmful(output: bytes) -> list[str]:
    """The characters of an output that a terminal may interpret, except line ends."""
    text = output.decode()
    return [char for char in text if char != "\n" and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")]


@pytest.fixture
def hostile(tmp_path) -> Path:
    """A project whose names and strings contain terminal control characters."""
    texts = {
        "train.py": CODE.replace("ESCAPES", ESCAPES + "\u202e"),
        f"{FORGED}": CODE,
        f"{ESCAPES}.py": CODE,
        "bad\x1b[31m.py": CODE + "(((",
        "run.sh": f"CUDA_VISIBLE_DEVICES=0,1 python '{ESCAPES}train.py'\n",
        f"{ESCAPES}train.py": TRAINER,
        "broken\x1b[31m.yml": "a: [python\n",
        "pyproject.toml": "[tool.trl-lint]\nunsafe-fixes = true\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with open(os.path.join(os.fsencode(tmp_path), b"byte\xff.py"), "w") as file:
        file.write(CODE)
    return tmp_path


def run(*args: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    done = module(*args, folder=folder, environment=os.environ | environment)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.encode(), done.stderr.encode())


@pytest.mark.parametrize(
    "args",
    [
        ("--output-format=text",),
        ("--output-format=concise",),
        ("--output-format=grouped",),
        ("--output-format=github",),
        ("--output-format=junit",),
        ("--fix", "--output-format=concise"),
    ],
)
def test_no_name_reaches_the_terminal_as_it_is(hostile, args):
    done = run("trl_lint", *args, folder=hostile)
    assert done.returncode == 2  # a file does not parse
    assert (harmful(done.stdout), harmful(done.stderr)) == ([], [])
    assert b"\nforged.py" not in b"\n" + done.stdout + b"\n" + done.stderr
    assert b"OWNED" in done.stdout + done.stderr


def test_in_colour_the_only_sequences_are_those_of_the_colours(hostile):
    done = run("trl_lint", "--output-format=text", folder=hostile, FORCE_COLOR="1")
    assert b"\x1b[1;31mTRL001\x1b[0m" in done.stdout
    assert harmful(re.sub(rb"\x1b\[[0-9;]*m", b"", done.stdout)) == []
    assert b"\x1b[2J" not in done.stdout


def test_each_line_of_concise_is_one_finding(hostile):
    done = run("trl_lint", "--output-format=concise", folder=hostile)
    lines = done.stdout.decode().splitlines()[:-1]
    assert all(re.search(r":\d+:\d+: TRL0\d\d ", line) for line in lines)
    assert {line.partition(":")[0] for line in lines} >= {"a\\nforged.py", "byte\\xff.py", "train.py"}


def test_a_name_forges_no_head_of_a_diff(hostile):
    done = run("trl_lint", "--diff", folder=hostile)
    heads = re.findall(rb"^(?:---|\+\+\+) .*$", done.stdout, re.MULTILINE)
    assert b'--- "a\\nforged.py:1:1: TRL999 here.py"'.replace(b"\\n", b"\\012") in heads
    assert harmful(b"\n".join(heads) + done.stderr) == []


def test_json_is_for_strict_readers(hostile):
    done = run("trl_lint", "--output-format=json", folder=hostile)
    rows = json.loads(done.stdout)
    assert json.dumps(rows, ensure_ascii=False).encode()  # a lone surrogate can't be encoded
    assert any(row["filename"].endswith("byte\ufffd.py") for row in rows)
    assert any(ESCAPES in row["message"] for row in rows)


@pytest.mark.parametrize("output_format", ["json-lines", "sarif", "gitlab"])
def test_other_documents_are_for_strict_readers_too(hostile, output_format):
    out = run("trl_lint", f"--output-format={output_format}", folder=hostile).stdout.decode("ascii")
    documents = [json.loads(each) for each in (out.splitlines() if output_format == "json-lines" else [out])]
    said = json.dumps(documents, ensure_ascii=False)
    assert said.encode()
    assert {"json-lines": "byte\ufffd.py", "sarif": "byte%FF.py", "gitlab": "byte\\\\xff.py"}[output_format] in said
    assert "OWNED" in said


def test_flake8_is_told_nothing_that_steers(hostile):
    done = run("flake8", "--select=TRL", "train.py", folder=hostile)
    assert b"OWNED" in done.stdout
    assert harmful(done.stdout) == []


def test_what_click_refuses(hostile):
    done = run("trl_lint", f"--{ESCAPES}", folder=hostile)
    assert done.returncode == 2
    assert b"OWNED" in done.stderr
    assert harmful(done.stderr) == []


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_a_diff_that_is_looked_at_is_not_obeyed(tmp_path):
    import pty

    (tmp_path / "train.py").write_text(CODE.replace('"ESCAPES"', f'"{ESCAPES}"'), encoding="utf-8")
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "trl_lint", "--diff", "--isolated", "--unsafe-fixes", "train.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=follower, stderr=subprocess.DEVNULL) as running:
        os.close(follower)
        shown = b""
        while piece := _read(leader):
            shown += piece
    os.close(leader)
    assert running.returncode == 1
    assert b"\\x1b[2J" in shown
    assert b"\x1b" not in shown


def _read(handle: int) -> bytes:
    try:
        return os.read(handle, 65536)
    except OSError:  # the other end is closed
        return b""
