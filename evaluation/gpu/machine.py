"""The machine on which the checks run: what it has, and what it lacks."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

NEEDED = ("torch", "transformers", "accelerate", "datasets", "trl", "libcst", "msgspec", "click")
NAMED = ("torch", "transformers", "accelerate", "datasets", "trl")
UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Machine:
    """Its GPUs by name, the versions of the driver, of CUDA and nccl that torch is built with, and of packages."""

    gpus: tuple[str, ...]
    driver: str
    cuda: str
    nccl: str
    packages: dict[str, str]


def lacking() -> str:
    """What is missing for the checks, in one line; "" if nothing is."""
    missing = [name for name in NEEDED if not find_spec(name)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    import torch

    if not torch.version.cuda:
        return f"torch {torch.__version__} is built without CUDA"
    if not torch.cuda.is_available() or not torch.cuda.device_count():
        return f"torch {torch.__version__} finds no GPU"
    return ""


def this_machine() -> Machine:
    """What this machine has; only called if nothing is lacking."""
    import torch

    gpus = tuple(torch.cuda.get_device_name(each) for each in range(torch.cuda.device_count()))
    return Machine(gpus, _driver(), torch.version.cuda or UNKNOWN, _nccl(), dict(_packages()))


def _packages() -> Iterator[tuple[str, str]]:
    for name in NAMED:
        try:
            yield name, version(name)
        except PackageNotFoundError:  # on the path, but not installed
            yield name, UNKNOWN


def _driver() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30).stdout
    except (OSError, subprocess.SubprocessError):
        return UNKNOWN
    return (said.split() or [UNKNOWN])[0]


def _nccl() -> str:
    import torch

    try:
        return ".".join(map(str, torch.cuda.nccl.version()))
    except Exception:  # a build without nccl
        return UNKNOWN
