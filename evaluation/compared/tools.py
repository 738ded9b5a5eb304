"""The tools that are compared, each as the command that its documentation gives.

Sources: https://docs.pytorch.org/docs/2.13/distributed.html#debugging-torch-distributed-applications;
https://docs.pytorch.org/tutorials/unstable/flight_recorder_tutorial.html;
https://huggingface.co/docs/accelerate/basic_tutorials/troubleshooting.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evaluation.compared import started
from evaluation.compared.cases import Case
from evaluation.compared.judging import Said, spoken
from trl_lint.verify.processes.launcher import free_port

ROOT = Path(__file__).parents[2]
# Seconds that a launcher has to end its ranks.
STOP_SECONDS = 40
TORCHRUN, SHORT, DETAIL, RECORDER = "torchrun", "torchrun, short time-out", "DETAIL", "flight recorder"
ACCELERATE, LINT, VERIFY = "accelerate --debug", "trl-lint", "trl-lint verify"
TOOLS = (TORCHRUN, SHORT, DETAIL, RECORDER, ACCELERATE, LINT, VERIFY)


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: after which a collective is given up. whole: after which a command is stopped."""

    seconds: float = 8.0
    whole: float = 60.0


def run(case: Case, tool: str, limits: Limits) -> dict[str, Said]:
    """The output of a tool for a program, by tool: the recorder's files come from the run with a short time-out."""
    with tempfile.TemporaryDirectory() as folder:
        if tool == VERIFY:
            return {VERIFY: _verify(case, Path(folder), limits)}
        if tool == LINT:
            command = [*_module("trl_lint"), "--isolated", "--no-cache", str(case.path)]
            return {LINT: command_said(command, Path(folder), limits.whole, _environment())}
        if tool == ACCELERATE:
            command = [*_module("accelerate.commands.launch"), "--debug", *_accelerate_options()]
            return {ACCELERATE: _start(command, case, Path(folder), limits)}
        command = [*_module("torch.distributed.run"), "--nproc-per-node=2", f"--master-port={free_port()}"]
        if tool == TORCHRUN:
            whole = [*command, str(case.path), folder]
            return {TORCHRUN: command_said(whole, Path(folder), limits.whole, _environment())}
        if tool == DETAIL:
            return {DETAIL: _start(command, case, Path(folder), limits, TORCH_DISTRIBUTED_DEBUG="DETAIL")}
        traces = Path(folder, "recorder")
        traces.mkdir()
        plain = _start(command, case, Path(folder), limits, **{started.FOLDER: str(traces)})
        return {SHORT: plain, RECORDER: _analysed(traces, limits)}


def accelerate_test(limits: Limits) -> Said:
    """The output of `accelerate test`, which runs its own script."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(
            "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_CPU\nnum_processes: 2\nuse_cpu: true\n"
            f"num_machines: 1\nmachine_rank: 0\nmain_process_port: {free_port()}\n"
        )
        command = [*_module("accelerate.commands.accelerate_cli"), "test", f"--config_file={config}"]
        return command_said(command, Path(folder), limits.whole, _environment())


def _module(name: str) -> list[str]:
    return [sys.executable, "-m", name]


def _accelerate_options() -> list[str]:
    options = {"--num_processes": "2", "--num_machines": "1", "--mixed_precision": "no", "--dynamo_backend": "no"}
    pairs = [*options.items(), ("--main_process_port", str(free_port()))]
    return ["--multi_gpu", *(word for pair in pairs for word in pair)]


def _start(command: Sequence[str], case: Case, folder: Path, limits: Limits, **variables: str) -> Said:
    environment = _environment(**{started.SECONDS: str(limits.seconds)}, **variables)
    whole = [*command, str(Path(started.__file__)), str(case.path), str(folder)]
    return command_said(whole, folder, limits.whole, environment)


def _analysed(traces: Path, limits: Limits) -> Said:
    """The output of torch's analyser for the recorder's files; it counts as failed if it finds something."""
    command = [*_module("torch.distributed.flight_recorder.fr_trace"), str(traces), "-p", started.DUMP]
    said = command_said([*command, "--print_stack_trace"], traces, limits.whole, _environment())
    text = spoken(said.output)
    return Said(text, said.status or int(bool(text)))


def _verify(case: Case, folder: Path, limits: Limits) -> Said:
    """All runs of `trl-lint verify`, each of which may take as long as any other command."""
    asked = {"--timeout": f"{limits.seconds:g}", "--limit": f"{limits.whole:g}", "--output-format": "markdown"}
    options = [word for option in asked.items() for word in option]
    command = [*_module("trl_lint"), "verify", "--isolated", *options, str(case.path), str(folder)]
    return command_said(command, folder, 10 * limits.whole, _environment())


def _environment(**variables: str) -> Mapping[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **variables}


def command_said(command: Sequence[str], folder: Path, limit: float, environment: Mapping[str, str]) -> Said:
    """Run a command to its end, or to its limit."""
    with (
        tempfile.TemporaryFile("w+", errors="replace") as output,
        subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        ) as process,
    ):
        status: int | None = None
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)  # a launcher ends its ranks
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return Said(output.read(), status)
