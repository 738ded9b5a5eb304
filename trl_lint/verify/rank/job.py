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

    Attributes:
        script: The program's absolute path, or a module's dotted name if `is_module`.
        traces: The folder that each rank writes its trace to.
        root: Files below it are the user's own; findings and traces refer to these.
        timeout: Seconds after which a collective that not all ranks have reached is aborted.
        backend: `auto`, `gloo` or `nccl`.
        sources: By file, the file whose text runs instead.
        shift: Each rank reads the share of the data of the rank with a number higher by this.
        scale: The factor by which the batches of data loaders are larger than in the script.
        gpus: The number of GPUs that are emulated for one process (`emulation.py`); 0 for none.
        devices: Whether a separate device for each process is emulated (`placement.py`).
        files: Further files of the user, in any folder.
        cache: A folder for the cache of the datasets library in this run ("" for the user's own, see `caches.py`).
        guarded: Whether the run is stopped from outside if its ranks wait for each other in vain (`watching.py`).
        controlled: Whether chance and gradients are made deterministic, and rows of batches recorded (`controlled.py`,
            `dealing.py`).
        seed: The seed of the generators once data are read.
        rows: A file with the rows that each rank reads then ("" for those of its samplers).
        records_imports: Whether the trace lists the installed modules that the script has imported (`imported.py`).
        fresh: Folders in which the trace lists new files (`made.py`).
        launcher_variables: The variables with which the launcher was started.
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
    records_imports: bool = False
    fresh: tuple[str, ...] = ()
    launcher_variables: tuple[str, ...] = ()

    @cached_property
    def user_files(self) -> UserFiles:
        """Which files are the user's own."""
        return UserFiles(self.root, self.files)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: str) -> Job:
        known = json.loads(Path(path).read_text())
        return cls(
            **{**known, **{name: tuple(known[name]) for name in ("args", "files", "fresh", "launcher_variables")}}
        )
