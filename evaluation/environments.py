"""Virtual environments with released trainers, one per release of trl, for programs that have to be run.

    python -m evaluation.environments [RELEASE ...]

Builds those that are missing (all by default) and prints the interpreter of each. They are in
`$TRL_LINT_ENVIRONMENTS`, or in `~/.cache/trl-lint/environments`. What is large and the same in all of them is installed
once, in a base that each of them has on its path.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evaluation.common import PASSED, run
from evaluation.releases import IndexUnreachable, reason_of

CACHE_VARIABLE = "TRL_LINT_ENVIRONMENTS"
# The last file that is written into an environment: without it, the environment is incomplete.
MARKER = "whole.txt"
TORCH = "torch==2.13.0"
# Nine tenths of the disk space and half of the time. pip installs another release if an environment needs one.
BASE = (TORCH, "numpy", "pandas", "pyarrow")


@dataclass(frozen=True)
class Environment:
    """A release of trl and the releases it is run with."""

    release: str
    pins: Mapping[str, str]

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements for pip; torch is installed already, and must stay the same."""
        return (TORCH, f"trl=={self.release}", *(f"{name}=={version}" for name, version in self.pins.items()))


def _row(release: str, transformers: str, accelerate: str, datasets: str, peft: str) -> Environment:
    pins = {"transformers": transformers, "accelerate": accelerate, "datasets": datasets, "peft": peft}
    return Environment(release, pins)


# fmt: off
ENVIRONMENTS = {row.release: row for row in (
    #    trl       transformers  accelerate  datasets  peft
    _row("0.13.0", "4.47.1",     "1.2.1",    "3.2.0",  "0.14.0"),
    _row("0.14.0", "4.48.3",     "1.3.0",    "3.2.0",  "0.14.0"),
    _row("0.16.0", "4.51.3",     "1.6.0",    "3.5.0",  "0.15.2"),
    _row("0.16.1", "4.51.3",     "1.6.0",    "3.5.0",  "0.15.2"),
    _row("0.17.0", "4.51.3",     "1.6.0",    "3.5.0",  "0.15.2"),
    _row("1.16.0", "5.23.0",     "1.15.0",   "5.2.0",  "0.21.2"),
)}
# fmt: on


def cache_dir() -> Path:
    """The folder of the environments; each version of Python has its own."""
    chosen = os.environ.get(CACHE_VARIABLE)
    root = Path(chosen) if chosen else Path.home() / ".cache" / "trl-lint" / "environments"
    return root.absolute() / f"python{sysconfig.get_python_version()}"


def python_of(release: str) -> Path:
    """The interpreter of the environment with this release of trl, which is built if it is missing.

    If two processes ask at once, one builds it and the other waits.

    Raises:
        KeyError: `ENVIRONMENTS` has no such release.
        IndexUnreachable: it is missing, and pip could not fetch what it needs.
    """
    environment = ENVIRONMENTS[release]
    with _alone(cache_dir()):
        base = _whole(cache_dir() / "base", BASE)
        return _interpreter(_whole(cache_dir() / f"trl-{release}", environment.requirements, base))


def packages_of(release: str) -> Path:
    """The folder with the packages of this environment; builds it and raises as `python_of` does."""
    return _packages(python_of(release).parents[1])


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the folder: only one process at a time is in this context."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _whole(folder: Path, requirements: Sequence[str], base: Path | None = None) -> Path:
    """The environment in this folder, rebuilt unless it exists as described."""
    description = _description(folder, requirements, base)
    marker = folder / MARKER
    if not (marker.is_file() and marker.read_text() == description and _interpreter(folder).is_file()):
        shutil.rmtree(folder, ignore_errors=True)
        _build(folder, requirements, base)
        marker.write_text(description)
    return folder


def _description(folder: Path, requirements: Sequence[str], base: Path | None) -> str:
    """Everything that an environment depends on, its own path included: scripts and paths in it are absolute."""
    below = (base / MARKER).read_text() if base else ""
    return "\n".join([f"[{folder}]", *requirements, below])


def _build(folder: Path, requirements: Sequence[str], base: Path | None) -> None:
    # An environment without its own pip uses that of the base.
    own_pip = ["--without-pip"] if base else []
    subprocess.run([sys.executable, "-m", "venv", *own_pip, str(folder)], check=True)
    if base:
        (_packages(folder) / "base.pth").write_text(f"{_packages(base)}\n")
    _install(_interpreter(folder), requirements)


def _install(python: Path, requirements: Sequence[str]) -> None:
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise IndexUnreachable(f"pip could not install {' '.join(requirements)}: {reason_of(done)}")


def _interpreter(folder: Path) -> Path:
    return folder / "bin" / "python"


def _packages(folder: Path) -> Path:
    return folder / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("releases", nargs="*", metavar="RELEASE", help=f"of trl: {', '.join(ENVIRONMENTS)}")
    chosen = parser.parse_args(arguments).releases
    if unknown := [release for release in chosen if release not in ENVIRONMENTS]:
        parser.error(f"no environment is known for {', '.join(unknown)}; there are {', '.join(ENVIRONMENTS)}")
    for release in chosen or ENVIRONMENTS:
        print(release, python_of(release), flush=True)
    return PASSED


if __name__ == "__main__":
    run(main)
