"""Files that a run leaves in the user's folders, removed so that the next run starts like the first.

Only what the ranks have created in this very run, and what is in folders that they have created. If a rank has moved or
removed an existing file, one of the user's files may be among these: then everything stays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from trl_lint.verify.record.traces import Run


def remove_created(run: Run, target: Path | None) -> None:
    """Remove what a run has created, or move it to a folder."""
    created = {path for rank in run.ranks for path in rank.created}
    if all(_is_below(path, created) for rank in run.ranks for path in rank.removed):
        for path in _outermost(created):
            with suppress(OSError):  # if this fails, it stays as it would without us
                _remove_or_move(path, target)


def _remove_or_move(path: str, target: Path | None) -> None:
    if not os.path.lexists(path):
        return
    if target is not None:
        place = target / os.path.relpath(path, os.sep)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, place)
    elif os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _outermost(paths: Collection[str]) -> Iterator[str]:
    return (path for path in sorted(paths) if not _is_below(os.path.dirname(path), paths))


def _is_below(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of these, or in one of them."""
    return path in folders or any(str(above) in folders for above in Path(path).parents)
