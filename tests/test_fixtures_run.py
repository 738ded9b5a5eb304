"""Every fixture is a program that runs: on the CPU, in one process, within seconds."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"
PROGRAMS = sorted(path for path in FIXTURES.glob("*/*.py"))
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

# Importing the libraries takes far longer than the two steps of a fixture, so it is done once: each program
# then runs in a fork that has imported everything and has no state of the one before.
RUNNER = """
import json, os, runpy, signal, sys, tempfile, traceback
import accelerate, datasets, torch, transformers, trl

for name in ("SFTTrainer", "DPOTrainer", "GRPOTrainer"):
    getattr(trl, name)

for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as output:
        if not (child := os.fork()):
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            status = 0
            signal.alarm(60)
            try:
                runpy.run_path(line.strip(), run_name="__main__")
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        print(json.dumps([status, output.read()]), flush=True)
"""


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """A process that runs the program whose path it is sent."""
    folder = tmp_path_factory.mktemp("fixtures")
    (folder / "wandb.py").write_text(WANDB)
    (folder / "runner.py").write_text(RUNNER)
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
        [sys.executable, str(folder / "runner.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    ) as process:
        yield process
        process.stdin.close()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_runs_on_one_process(program, runner):
    runner.stdin.write(f"{program}\n")
    runner.stdin.flush()
    status, output = json.loads(runner.stdout.readline())
    assert status == 0, output
