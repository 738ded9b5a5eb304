"""The cache of the datasets library, for one run alone: what one run has prepared, the next must prepare as well.

All that the user's own cache has is there as links, so nothing is prepared or fetched again that was there before, and
nothing is written there. Downloads stay where they are.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from types import ModuleType

from .imports import Patch
from .job import Job

# Beyond so many files to link the user's own cache is used.
MOST_FILES = 20_000
# What belongs to processes at work.
_OF_OTHERS = (".lock", ".incomplete")
# These have a place of their own, which was known once the library was imported.
_DOWNLOADS = "downloads"


def patches(job: Job) -> dict[str, Patch]:
    """By module, what gives a run a cache of its own."""

    def patch(config: ModuleType) -> None:
        own = Path(job.cache)
        if _is_linked(Path(config.HF_DATASETS_CACHE), own):
            vars(config).update(HF_DATASETS_CACHE=own)

    return {"datasets.config": patch} if job.cache else {}


def _is_linked(users: Path, own: Path) -> bool:
    """Link the user's cache, if no other rank has done so; whether the run has a cache of its own."""
    own.mkdir(parents=True, exist_ok=True)
    done, given_up = own / ".linked", own / ".given-up"
    with open(own / ".linking", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not (done.exists() or given_up.exists()):
            (done if _link(users, own) else given_up).touch()
    return done.exists()


def _link(users: Path, own: Path) -> bool:
    """Lay out the folders of one cache in another, with links to its files; not if there are too many."""
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
