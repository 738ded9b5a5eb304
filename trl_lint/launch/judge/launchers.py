"""Tables: what starts one process per GPU itself, Python's flags, and the scripts that are known trainers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from trl_lint.knowledge.heuristics import TRANSFORMERS_SCRIPT, TRL_SCRIPT

ACCELERATE_MODULE = "accelerate.commands.launch"


@dataclass(frozen=True, slots=True)
class Launcher:
    """A command that begins with these words starts the processes itself.

    source: where that is documented. program: what each process runs, if it is the library's own and no script that
    the command names; {} is the word after these.
    """

    words: tuple[str, ...]
    source: str
    program: str = ""


# fmt: off
LAUNCHERS = (
    Launcher(("accelerate", "launch"), "accelerate/commands/launch.py"),
    Launcher(("accelerate-launch",), "accelerate setup.py, console_scripts"),
    Launcher(("torchrun",), "torch/distributed/run.py"),
    Launcher(("torchx", "run"), "torchx: dist.ddp components"),
    Launcher(("deepspeed",), "deepspeed/launcher/runner.py"),
    Launcher(("ds",), "deepspeed/launcher/runner.py"),
    Launcher(("trl",), "trl/cli: hands the script to accelerate.commands.launch", "trl/scripts/{}.py"),
    Launcher(("mpirun",), "Open MPI, MPICH"),
    Launcher(("mpiexec",), "Open MPI, MPICH"),
    Launcher(("horovodrun",), "horovod/runner/launch.py"),
    Launcher(("ray", "job", "submit"), "Ray job API: the cluster places the processes"),
    Launcher(("ray", "submit"), "Ray cluster launcher"),
    Launcher(("ray", "exec"), "Ray cluster launcher"),
    Launcher(("sky", "launch"), "SkyPilot CLI"),
    Launcher(("sky", "exec"), "SkyPilot CLI"),
    Launcher(("sky", "jobs", "launch"), "SkyPilot CLI"),
    Launcher(("llamafactory-cli",), "llamafactory/cli.py: starts torchrun on several GPUs",
             "llamafactory/launcher.py"),
    Launcher(("lmf",), "llamafactory/cli.py", "llamafactory/launcher.py"),
    Launcher(("axolotl",), "axolotl/cli/main.py: --launcher accelerate by default", "axolotl/cli/{}.py"),
    Launcher(("swift",), "ms-swift, swift/cli/main.py: torchrun with NPROC_PER_NODE", "swift/cli/{}.py"),
    Launcher(("xtuner",), "xtuner/entry_point.py", "xtuner/tools/{}.py"),
    Launcher(("tune", "run"), "torchtune/_cli/run.py"),
    Launcher(("composer",), "composer/cli/launcher.py"),
    Launcher(("colossalai", "run"), "colossalai/cli/launcher"),
    Launcher(("lightning", "run"), "lightning_fabric/cli.py"),
    Launcher(("fabric", "run"), "lightning_fabric/cli.py"),
    Launcher(("nemo",), "NeMo-Run CLI"),
    Launcher(("modal", "run"), "Modal: the function's decorator names the GPUs"),
)
# fmt: on

# `python -m X` starts the processes itself for these. `accelerate_cli` does so with `launch` after it.
LAUNCHER_MODULES = {
    "torch.distributed.run": "torch/distributed/run.py",
    "torch.distributed.launch": "torch/distributed/launch.py",
    "torch.distributed.elastic": "torch/distributed/elastic",
    ACCELERATE_MODULE: "accelerate/commands/launch.py",
    "accelerate.commands.accelerate_cli": "accelerate/commands/accelerate_cli.py",
    "accelerate": "accelerate has no __main__",
    "deepspeed.launcher.runner": "deepspeed/launcher/runner.py",
    "deepspeed.launcher.launch": "deepspeed/launcher/launch.py",
    "trl": "trl/cli",
    "trl.cli": "trl/cli",
    "trl.cli.main": "trl/cli/main.py",
    "torch_xla.distributed.xla_dist": "torch_xla/distributed/xla_dist.py",
    "horovod.runner": "horovod/runner",
    "ray": "ray",
    "sagemaker_training.cli.train": "sagemaker-training-toolkit",
    "smdistributed.modelparallel": "SageMaker",
    "smdistributed.dataparallel": "SageMaker",
    "oneccl_bindings_for_pytorch": "oneCCL",
    "intel_extension_for_pytorch.cpu.launch": "intel_extension_for_pytorch/cpu/launch",
    "torch.backends.xeon.run_cpu": "torch/backends/xeon/run_cpu.py",
    "paddle.distributed.launch": "paddle/distributed/launch",
}

# Scripts that start the processes of the script passed to them, by the end of their path.
LAUNCHER_SCRIPTS = {
    "xla_spawn.py": "transformers/examples/pytorch/xla_spawn.py: xmp.spawn",
    "gaudi_spawn.py": "optimum-habana/examples/gaudi_spawn.py",
    "torch/distributed/run.py": "torch/distributed/run.py",
    "torch/distributed/launch.py": "torch/distributed/launch.py",
    "accelerate/commands/launch.py": "accelerate/commands/launch.py",
    "run_on_remote.py": "transformers/examples/run_on_remote.py: runhouse",
}

# `python -m X` runs no training itself for these; what they run in turn is not analysed.
TOOLS = frozenset(
    {
        "pip", "pytest", "venv", "virtualenv", "build", "twine", "unittest", "doctest", "json.tool", "http.server",
        "site", "sysconfig", "ensurepip", "pdb", "cProfile", "profile", "timeit", "trace", "compileall",
        "py_compile", "ipykernel", "jupyter", "notebook", "black", "ruff", "isort", "flake8", "mypy", "pylint",
        "coverage", "tox", "nox", "pre_commit", "sphinx", "mkdocs", "spacy", "nltk.downloader", "zipfile", "tarfile",
        "uv", "poetry", "pipx", "conda", "debugpy", "webbrowser", "this", "platform", "calendar", "cython", "Cython",
        "torch.utils.collect_env", "xformers.info", "bitsandbytes",
    }
)  # fmt: skip
INTERPRETER = re.compile(r"(?:.*/)?(?:python(?:\d+(?:\.\d+)?)?|pypy3?)(?:\.exe)?\Z")
# Interpreters with a version in their name: `accelerate` on the path may belong to another one.
VERSIONED = re.compile(r"(?:.*/)?python\d+\.\d+\Z")


@dataclass(frozen=True, slots=True)
class Flag:
    """An interpreter flag and the assignment with the same effect in all processes of a launcher ("": none).

    Launchers start `sys.executable` without the flags of their own interpreter (accelerate/utils/launch.py,
    torch/distributed/run.py), but with its environment.
    """

    letter: str
    assignment: str
    source: str = "python --help-env"


# fmt: off
FLAGS = (
    Flag("u", "PYTHONUNBUFFERED=1"),
    Flag("O", "PYTHONOPTIMIZE=1"),
    Flag("B", "PYTHONDONTWRITEBYTECODE=1"),
    Flag("s", "PYTHONNOUSERSITE=1"),
    Flag("P", "PYTHONSAFEPATH=1"),
)
# fmt: on
ASSIGNMENTS = {each.letter: each.assignment for each in FLAGS}
X_OPTIONS = {
    "dev": "PYTHONDEVMODE=1",
    "faulthandler": "PYTHONFAULTHANDLER=1",
    "utf8": "PYTHONUTF8=1",
    "utf8=1": "PYTHONUTF8=1",
    "importtime": "PYTHONPROFILEIMPORTTIME=1",
}
# Flags without a value, and those whose value is the next word or the rest of their own.
PLAIN_FLAGS = frozenset("bBdEhiIOPqRsSuvVx?")
VALUE_FLAGS = frozenset("WX")
# With these flags Python runs no script.
NO_SCRIPT = frozenset("hVc?")


def training_script(path: str) -> str | None:
    """The evidence that the script at this path trains, if it is one of TRL's or Transformers'."""
    return next((each.because for each in (TRL_SCRIPT, TRANSFORMERS_SCRIPT) if each.fits(path)), None)


def launcher(values: list[str | None]) -> Launcher | None:
    """The launcher that a command line begins with."""
    first = (values[0] or "").rsplit("/", 1)[-1] if values else ""
    for each in LAUNCHERS:
        if first == each.words[0] and tuple(values[1 : len(each.words)]) == each.words[1:]:
            return each
    return None
