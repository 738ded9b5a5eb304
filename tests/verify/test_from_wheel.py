"""The harness as users meet it: installed from a wheel, in each of its modes, in each of its formats.

A mode is run once, and its result written in all formats (`--report`); one of them, a different one for each mode, goes
to standard output. The environment is a new one that borrows torch and other packages from that of the tests.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import sysconfig
import time
import venv
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from commands import call, in_forks, interrupted
from once import once
from wheels import wheel_of

from trl_lint.verify.cli import FORMATS

pytestmark = [pytest.mark.index, pytest.mark.torch]

# The bug is shown, the fix proven.
BROKEN = """\
import sys
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
print(sys.argv[1:], accelerator.gather(torch.ones(3).sum().item()))
"""
COMMUNICATES = "import torch.distributed as dist\n\ndist.init_process_group('gloo')\ndist.barrier()\n"
# Scripts that cost nothing: the way they are started is tested.
RIGHT = "import os\n\nprint(os.environ.get('WORLD_SIZE'))\n"
TRAINS = """\
import os

if os.environ.get("STEPS") != "1":
    from transformers import Trainer

    Trainer().train()
"""
FILES = {
    "broken.py": BROKEN,
    "right.py": RIGHT,
    "pkg/__init__.py": "",
    "pkg/train.py": RIGHT,
    "train.py": TRAINS,
    "run.sh": "STEPS=1 CUDA_VISIBLE_DEVICES=0,1 python train.py\n",
}
NOTHING_WRONG = "Nothing wrong was seen. That is no proof: a run only shows what it reaches."


@dataclass(frozen=True)
class Mode:
    """How the command is called, and the result: exit code, runs with whether each holds, and the last words."""

    words: tuple[str, ...]
    code: int
    runs: dict[str, bool]
    conclusion: str | None
    says: tuple[str, ...] = field(default=())
    # How many fixtures of right code are run in addition.
    right: int = 0


MODES = {
    "script": Mode(
        ("--no-one-process", "broken.py", "--steps", "2"),
        1,
        {"as it is": False, "fixed": True},
        "It fails as it is and passes when fixed: run `trl-lint --fix broken.py`.",
        ("TypeError", "broken.py:6 (<module>)", "broken.py:6:21: TRL001 item-before-gather"),
    ),
    "module": Mode(("-m", "pkg.train"), 0, {"as it is": True}, NOTHING_WRONG, ("all 2 ranks ran to their end",)),
    "bare": Mode(("--bare", "right.py"), 0, {"bare python, 2 emulated GPUs": True, "as it is": True}, NOTHING_WRONG),
    "launch file": Mode(
        ("run.sh",),
        0,
        {"bare python, 2 emulated GPUs": True, "accelerate launch": True},
        NOTHING_WRONG,
        ("run.sh:1",),
    ),
    "accelerate": Mode(
        ("--launcher", "accelerate", "--no-one-process", "right.py"), 0, {"as it is": True}, NOTHING_WRONG
    ),
    "fixtures": Mode(
        ("TRL004",),
        0,
        {"broken": True, "fixed": True},
        None,
        ("bare_python_launch/broken",),
    ),
    "fixtures that raise": Mode(
        ("TRL010",), 0, {"broken": True, "fixed": True}, None, ("wrapped_generate/broken", "AttributeError"), right=2
    ),
}


@pytest.fixture(scope="module")
def command(tmp_path_factory) -> str:
    """`trl-lint` in a new environment that has it from its wheel."""
    wheel = wheel_of(tmp_path_factory)
    return once(tmp_path_factory, "environment", lambda folder: installed(wheel, folder / "environment"))


def installed(wheel: Path, home: Path) -> str:
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, timeout=300)
    # After its own packages those of the tests' environment, except its editable installs.
    own = sysconfig.get_path("purelib", vars={"base": str(home)})
    theirs = [path for path in sys.path if "site-packages" in path]
    Path(own, "borrowed.pth").write_text("\n".join(theirs) + "\n")
    where = "import trl_lint\nprint(trl_lint.__file__)"
    done = subprocess.run([python, "-c", where], cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(own), done.stdout
    return str(home / "bin" / "trl-lint")


# Those with the most imports run in forks in every run of the tests (the one that needs emulated GPUs can't), and from
# the wheel in the slow ones, with that whose launcher starts the launch file too.
HEAVY = ("fixtures", "fixtures that raise")
SLOW = (*HEAVY, "accelerate")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MODES]
)
def test_every_mode_in_every_format(command, name, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "FORCE_COLOR")}
    done = subprocess.run(
        [command, "verify", *words(name, tmp_path)],
        cwd=tmp_path,
        env={**environment, "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    look(name, done.returncode, done.stdout, done.stderr, tmp_path)


@pytest.mark.parametrize("name", [pytest.param(HEAVY[0], marks=pytest.mark.slow), *HEAVY[1:]])
def test_a_mode_in_forks(server, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    in_forks(server, tmp_path, monkeypatch)
    done = call(*words(name, tmp_path))
    look(name, done.exit_code, done.stdout, done.stderr, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
@pytest.mark.parametrize("number", range(10))
def test_interrupted_at_any_moment(command, number, tmp_path):
    end = time.monotonic() + random.Random(number).uniform(0.5, 20)
    code, _, said = interrupted(tmp_path, COMMUNICATES, lambda: time.monotonic() > end, tool=(command,))
    assert (code, said) in [(130, "trl-lint: interrupted\n"), (0, "")]


def formats(name: str) -> list[str]:
    """The formats of standard output and of the files."""
    return [FORMATS[(list(MODES).index(name) + number) % len(FORMATS)] for number in range(len(FORMATS))]


def words(name: str, folder: Path) -> list[str]:
    """The arguments of a mode in a folder with its files."""
    for file, text in FILES.items():
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(text)
    first, *others = formats(name)
    files = [word for each in others for word in ("--report", f"{each}={folder / each}")]
    return ["--timeout", "60", "--output-format", first, *files, *MODES[name].words]


def look(name: str, code: int, out: str, err: str, folder: Path) -> None:
    """Check that all formats report the expected result of a mode."""
    mode = MODES[name]
    assert (code, err) == (mode.code, ""), out
    first, *others = formats(name)
    texts = {first: out, **{each: (folder / each).read_text(encoding="utf-8") for each in others}}
    document = json.loads(texts["json"])
    subject, *right = document["subjects"]
    assert len(right) == mode.right and all(run["holds"] for each in right for run in each["runs"])
    assert {run["label"]: run["holds"] for run in subject["runs"]} == mode.runs
    assert (subject["conclusion"], document["holds"]) == (mode.conclusion, mode.code == 0)
    for each in FORMATS:
        plain = " ".join(texts[each].replace("\\", "").split())
        for said in (*mode.runs, *filter(None, [mode.conclusion]), *mode.says):
            assert said in plain, (each, said, plain)
    rows = [[verdict["oracle"] for verdict in run["verdicts"]] for run in subject["runs"]]
    assert all(each == rows[0] for each in rows)
