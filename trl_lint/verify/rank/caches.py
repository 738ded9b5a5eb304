"""A separate cache of the datasets library for each run, so that every run prepares the same data sets.

The content of the user's own cache is linked there, so that nothing from it is prepared or downloaded again, and
nothing is written to it. Downloads stay where they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import ModuleType

from .imports import Patch
from .job import Job

# With more files than this to link, the user's own cache is used.
MOST_FILES = 20_000
# Files that belong to running processes.
_OF_OTHERS = (".lock", ".incomplete")
# Downloads have a path of their own, which is determined when the library is imported.
_DOWNLOADS = "downloads"


def patches(job: Job) -> dict[str, Patch]:
    """The patches, by module, that give a run its own cache."""

    def patch(config: ModuleType) -> None:
        own = Path(job.cache)
        if _is_linked(Path(config.HF_DATASETS_CACHE), own):
            vars(config).update(HF_DATASETS_CACHE=own)

    return {"datasets.config": patch} if job.cache else {}


def _is_linked(users: Path, own: Path) -> bool:
    """Link the user's cache, unless another rank has done so. Return whether the run has its own cache."""
    own.mkdir(parents=True, exist_ok=True)
    done, given_up = own / ".linked", own / ".given-up"
    with open(own / ".linking", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (done.exists() or given_up.exists()):
            (done if _link(users, own) else given_up).touch()
    return done.exists()


def _link(users: Path, own: Path) -> bool:
    """Recreate the folders of one cache in another, with links to its files; return False if there are too many."""
    count = 0
    for folder, folders, files in os.walk(users):
        below = own / os.path.relpath(folder, users)
        count += len(folders) + len(files)
        if count > MOST_FILES:
            return False
        below.mkdir(exist_ok=True)
        folders[:] = [name for name in folders if _is_wanted(name) and Path(folder, name) != users / _DOWNLOADS]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        for name in (*links, *filter(_is_wanted, files)):
            with contextlib.suppress(FileExistsError):
                (below / name).symlink_to(os.path.abspath(os.path.join(folder, name)))
    return True


def _is_wanted(name: str) -> bool:
    return not name.endswith(_OF_OTHERS)
