"""Every fixture is a program that runs on one process, and its fix changes nothing of what it logs there."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from math import isclose
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures"
PROGRAMS = sorted(path for path in FIXTURES.glob("*/*.py"))
PAIRS = [path for path in PROGRAMS if path.stem.startswith("fixed")]
MISSING = [name for name in ("torch", "transformers", "accelerate", "datasets", "trl") if not find_spec(name)]

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
]

WANDB = """
run = None

def init(*args, **kwargs): ...
def log(*args, **kwargs): ...
"""


class Runner:
    """Runs each program once, in one plain process of the CPU."""

    def __init__(self, process):
        self.process = process
        self.known = {}

    def __call__(self, program):
        if program not in self.known:
            self.process.stdin.write(f"{program}\n")
            self.process.stdin.flush()
            self.known[program] = json.loads(self.process.stdout.readline())
        return self.known[program]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixtures")
    (folder / "wandb.py").write_text(WANDB)
    distributed = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
    environment = {name: value for name, value in os.environ.items() if name not in distributed} | {
        "PYTHONPATH": os.pathsep.join([str(FIXTURES), str(folder)]),
        "CUDA_VISIBLE_DEVICES": "",
        "HF_HUB_OFFLINE": "1",
        "WANDB_MODE": "disabled",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with subprocess.Popen(
        [sys.executable, str(HERE / "fixture_runner.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    ) as process:
        yield Runner(process)
        process.stdin.close()


def identity(path):
    return f"{path.parent.name}/{path.stem}"


@pytest.mark.parametrize("program", PROGRAMS, ids=identity)
def test_runs_on_one_process(program, run):
    result = run(program)
    assert result["status"] == 0, result["output"]


def is_alike(a, b):
    """Equal, up to the digits that a Python number loses as a tensor."""
    if isinstance(a, float) and isinstance(b, float):
        return isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_alike, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_alike(a[key], b[key]) for key in a)
    return a == b


@pytest.mark.parametrize("fixed", PAIRS, ids=identity)
def test_the_fix_changes_nothing_on_one_process(fixed, run):
    before = run(fixed.with_name(fixed.name.replace("fixed", "broken", 1)))
    after = run(fixed)
    assert before["logged"], "nothing was logged, so that nothing could be compared"
    assert is_alike(before["logged"], after["logged"])
