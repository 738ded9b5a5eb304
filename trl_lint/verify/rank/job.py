"""The description of a run for its ranks, as JSON between the launcher and the ranks."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from .call_stack import UserFiles


@dataclass(frozen=True)
class Job:
    """One run of a script.

    script: the program's absolute path, or a module's dotted name if `is_module`.
    traces: the folder that each rank writes its trace to.
    root: files below it are the user's own; findings and traces refer to these.
    controlled: chance and gradients are made deterministic, and rows of batches recorded (`controlled.py`,
    `dealing.py`).
    seed: the seed of the generators once data are read. rows: a file with the rows that each rank reads then ("" for
    those of its samplers).
    guarded: the run is stopped from outside if its ranks wait for each other in vain (`watching.py`).
    files: further files of the user, in any folder.
    timeout: seconds after which a collective that not all ranks have reached is aborted.
    backend: `auto`, `gloo` or `nccl`.
    sources: by file, the file whose text runs instead.
    shift: each rank reads the share of the data of the rank with a number higher by this.
    scale: the factor by which the batches of data loaders are larger than in the script.
    gpus: the number of GPUs that are emulated for one process (`emulation.py`); 0 for none.
    devices: a separate device for each process is emulated (`placement.py`).
    tells_imports: the trace lists the installed modules that the script has imported (`imported.py`).
    fresh: folders in which the trace lists new files (`made.py`).
    given: the variables with which the launcher was started.
    cache: a folder for the cache of the datasets library in this run ("" for the user's own, see `caches.py`).
    """

    script: str
    args: tuple[str, ...]
    traces: str
    root: str
    is_module: bool = False
    timeout: float = 10.0
    backend: str = "auto"
    sources: dict[str, str] = field(default_factory=dict)
    shift: int = 0
    scale: int = 1
    gpus: int = 0
    devices: bool = False
    files: tuple[str, ...] = ()
    cache: str = ""
    guarded: bool = False
    controlled: bool = False
    seed: int = 0
    rows: str = ""
    tells_imports: bool = False
    fresh: tuple[str, ...] = ()
    given: tuple[str, ...] = ()

    @cached_property
    def user_files(self) -> UserFiles:
        """Which files are the user's own."""
        return UserFiles(self.root, self.files)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: str) -> Job:
        known = json.loads(Path(path).read_text())
        return cls(**{**known, **{name: tuple(known[name]) for name in ("args", "files", "fresh", "given")}})
