"""Releases on the package index: fetched by version with pip, unpacked once, kept outside the tree.

The cache is in `$TRL_LINT_CORPUS`, or in `~/.cache/trl-lint/corpus`. Nothing fetched is run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

CACHE_VARIABLE = "TRL_LINT_CORPUS"
# The pip option for each kind of archive, and its file name suffix.
PIP_OPTIONS = {"wheel": "--only-binary=:all:", "sdist": "--no-binary=:all:"}
SUFFIXES = {"wheel": ".whl", "sdist": ".tar.gz"}


class IndexUnreachable(Exception):
    """A release is not in the cache and could not be fetched."""


@dataclass(frozen=True, order=True)
class Release:
    """One version of one package, as a wheel or as a source distribution."""

    package: str
    version: str
    kind: str = "wheel"

    def __str__(self) -> str:
        return f"{self.package} {self.version}" + (" (sdist)" if self.kind == "sdist" else "")

    @property
    def folder(self) -> str:
        return f"{self.package}-{self.version}-{self.kind}"

    def is_archive(self, filename: str) -> bool:
        """Whether a file of this name is the archive of this release."""
        stem = rf"{re.escape(self.package)}-{re.escape(self.version)}".replace(r"\-", "[-_]")
        rest = r"-.*\.whl" if self.kind == "wheel" else r"\.tar\.gz"
        return re.fullmatch(stem + rest, filename, re.IGNORECASE) is not None


def cache_dir() -> Path:
    """Where archives and unpacked releases are kept."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen) if chosen else Path.home() / ".cache" / "trl-lint" / "corpus"


def fetch(release: Release) -> Path:
    """The folder that the release is unpacked in: the one that holds its packages.

    Raises:
        IndexUnreachable: it is not in the cache and pip could not fetch it.
    """
    target = cache_dir() / "unpacked" / release.folder
    if not target.is_dir():
        unpack(archive_of(release), target)
    return _top(target) if release.kind == "sdist" else target


def _top(target: Path) -> Path:
    """The folder inside a source distribution, in whose name the package may be written differently."""
    return next(each for each in sorted(target.iterdir()) if each.is_dir() and not each.name.startswith("."))


def archive_of(release: Release) -> Path:
    """The archive of a release: from the cache, otherwise from the index."""
    archives = cache_dir() / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    return _cached(release, archives) or _download(release, archives)


def _cached(release: Release, archives: Path) -> Path | None:
    return next((path for path in sorted(archives.iterdir()) if release.is_archive(path.name)), None)


def _download(release: Release, archives: Path) -> Path:
    requirement = f"{release.package}=={release.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(archives)]
    done = subprocess.run(
        [*command, PIP_OPTIONS[release.kind], requirement], capture_output=True, text=True, check=False
    )
    found = _cached(release, archives)
    if found is None:
        raise IndexUnreachable(f"{release} is not in {archives} and pip could not fetch it: {reason_of(done)}")
    return found


def reason_of(done: subprocess.CompletedProcess[str]) -> str:
    """The line in which pip says why it failed."""
    lines = done.stderr.strip().splitlines() or ["pip said nothing"]
    return next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])


def unpack(archive: Path, target: Path) -> None:
    """Unpack a wheel or a source distribution; `target` appears only once it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=".unpacking-", dir=target.parent))
    try:
        _extract(archive, half)
        half.rename(target)
    except OSError:
        # Another process was faster, with the same result.
        if not target.is_dir():
            raise
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _extract(archive: Path, target: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(target)
    else:
        with tarfile.open(archive) as sdist:
            sdist.extractall(target, filter="data")
