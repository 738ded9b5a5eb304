"""What does the recorder cost? A run with the recorder, over the same run without it.

    python -m bench.recorder [--runs N] [--steps N] [--release X]

A DPO run on two processes on the CPU, under torchrun, with and without the recorder alternately. The figures are the
seconds of training, as Trainer counts them, and the wall-clock and CPU seconds of the whole command. Exit code 1 when
recorded training takes more than 5 % longer, in the median.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from evaluation import environments
from evaluation.common import FAILED, PASSED, run
from evaluation.subjects import path_of
from trl_lint.verify.processes import launcher
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.rank.job import Job

LIMIT = 1.05
QUIET = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
_TRAINED = re.compile(r"'train_runtime': '?([\d.]+)")


@dataclass(frozen=True)
class Taken:
    """The seconds of one run: of its training, in total, and of all processors."""

    training: float
    whole: float
    cpu: float


def watched(launch: Launch, script: Path, args: tuple[str, ...]) -> Taken:
    before = _cpu()
    with tempfile.TemporaryDirectory() as folder:
        result = launcher.run(launch, Job(str(script), args, folder, str(script.parent)))
        return Taken(_trained(result.ranks[0].output), result.seconds, _cpu() - before)


def unwatched(launch: Launch, script: Path, args: tuple[str, ...]) -> Taken:
    command = [launch.python, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={launch.nproc}"]
    begun, before = time.monotonic(), _cpu()
    done = subprocess.run(
        [*command, str(script), *args], env={**os.environ, **QUIET}, capture_output=True, text=True, check=False
    )
    return Taken(_trained(done.stdout), time.monotonic() - begun, _cpu() - before)


def _cpu() -> float:
    """The CPU seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _trained(output: str) -> float:
    found = _TRAINED.search(output)
    if found is None:
        raise RuntimeError(f"the run did not train to its end: {output[-500:]}")
    return float(found[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--release", default="0.17.0", choices=sorted(environments.ENVIRONMENTS))
    options = parser.parse_args()
    launch = Launch(str(environments.python_of(options.release))).with_environment(**QUIET)
    asked = launch, path_of("dpo"), ("--steps", str(options.steps))
    watched(*asked)  # once to warm up
    pairs = [(watched(*asked), unwatched(*asked)) for _ in range(options.runs)]
    print(f"DPO, trl {options.release}, {options.steps} steps on 2 processes; with over without, {options.runs} pairs")
    for name in ("training", "whole", "cpu"):
        ratios = sorted(getattr(a, name) / getattr(b, name) for a, b in pairs)
        seconds = [statistics.median(getattr(pair[side], name) for pair in pairs) for side in (0, 1)]
        print(
            f"{name:<9} {statistics.median(ratios):.3f} (from {ratios[0]:.3f} to {ratios[-1]:.3f}); "
            f"medians {seconds[0]:.2f} s with, {seconds[1]:.2f} s without"
        )
    return PASSED if statistics.median(a.training / b.training for a, b in pairs) <= LIMIT else FAILED


if __name__ == "__main__":
    sys.exit(run(main))
