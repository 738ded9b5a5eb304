"""What a rank is asked to do, as JSON between the launcher and the ranks."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from .call_stack import UserFiles


@dataclass(frozen=True)
class Job:
    """One run of a script.

    script: the program's absolute path, or a module's dotted name where `is_module`.
    traces: the folder that each rank writes its trace to.
    root: files below it are the user's own; findings and traces name places there.
    controlled: chance and gradients are held still, and the rows of batches told (`controlled.py`, `dealing.py`).
    seed: with which generators go on once data are read. rows: a file that says which rows each rank reads then ("" for
    what its samplers say).
    guarded: somebody stops the run if its ranks wait for each other in vain (`watching.py`).
    files: further files that are, whatever folder they lie in.
    timeout: seconds after which a collective that not all ranks have reached is given up.
    backend: `auto`, `gloo` or `nccl`.
    sources: by file, the file whose text runs in its place.
    shift: each rank reads the share of the data that the rank so many places on would read.
    scale: by how much the batches of data loaders are larger than the script asks for.
    gpus: so many GPUs are emulated for one process (`emulation.py`); 0 for none.
    devices: a device of each process's own is emulated (`placement.py`).
    tells_imports: the trace is to say what of the installed libraries the script has imported (`imported.py`).
    fresh: folders in which the trace is to say what a rank makes (`made.py`).
    given: the variables that the launcher was started with.
    cache: a folder for what the datasets library keeps of this run ("" for the user's own, see `caches.py`).
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
