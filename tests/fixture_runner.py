"""Runs fixtures: reads the path of a program per line, writes its exit status, output and what it logged as JSON.

Importing the libraries takes far longer than the two steps of a fixture, so it is done once: each program then runs in
a fork that has imported everything and has no state of the one before.
"""

from __future__ import annotations

import builtins
import json
import os
import random
import runpy
import signal
import sys
import tempfile
import traceback
from typing import Any

import accelerate
import datasets  # noqa: F401
import torch
import transformers
import trl
import wandb

for _name in ("SFTTrainer", "DPOTrainer", "GRPOTrainer"):
    getattr(trl, _name)

# What differs between two runs of one program.
TIMED = ("runtime", "per_second", "flos")


class Recorder:
    """Notes what a program hands to the logs, what it prints itself, and every loss it goes back from."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.records: list[list[Any]] = []
        self._wrap(transformers.Trainer, "log", lambda args: args[1])
        self._wrap(accelerate.Accelerator, "log", lambda args: args[1])
        self._wrap(accelerate.Accelerator, "print", lambda args: args[1:])
        self._wrap(torch.Tensor, "backward", lambda args: args[0])
        self._wrap(wandb, "log", lambda args: args[0])
        self._wrap(builtins, "print", lambda args: args, own=True)

    def _wrap(self, owner: Any, name: str, shown: Any, own: bool = False) -> None:
        original = getattr(owner, name)

        def recorded(*args: Any, **kwargs: Any) -> Any:
            if not own or sys._getframe(1).f_code.co_filename == self.program:
                self.records.append([name, plain(shown(args))])
            return original(*args, **kwargs)

        setattr(owner, name, recorded)


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, torch.Tensor):
        return value.detach().tolist()
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if not key.endswith(TIMED)}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value if isinstance(value, (int, float, str, type(None))) else repr(type(value))


def run(program: str) -> int:
    """Run a program as `python program` would, from the same seeds each time; its exit status."""
    torch.manual_seed(0)
    random.seed(0)
    try:
        runpy.run_path(program, run_name="__main__")
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def forked(program: str) -> dict[str, Any]:
    """What came of a program that ran in a fork."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as records:
        if not (child := os.fork()):
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            signal.alarm(60)
            recorder = Recorder(program)
            status = run(program)
            json.dump(recorder.records, records)
            for stream in (records, sys.stdout, sys.stderr):
                stream.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        records.seek(0)
        logged = json.load(records) if status == 0 else []
        return {"status": status, "output": output.read(), "logged": logged}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(forked(line.strip())), flush=True)
