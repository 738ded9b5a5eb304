"""Places that a reader can look up: below the packages of an environment, or below the repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trl_lint.verify.record.traces import Run, SourcePlace

ROOT = Path(__file__).parents[2]


def below(file: str) -> str:
    """A file's path without the part that is specific to this machine."""
    _, found, inside = file.rpartition("/site-packages/")
    if found:
        return inside
    path = Path(file)
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def spelled_out(text: str, run: Run) -> str:
    """An oracle's text, with the full paths of the places that it names by their file's name."""
    for place in sorted(set(_places(run)), key=str):
        # Whole names only: `trainer.py` is the end of others, and of a path that is already complete.
        whole = rf"(?<![\w/.-]){re.escape(str(place))}"
        text = re.sub(whole, f"{below(place.file)}:{place.line} ({place.function})", text)
    return text


def _places(run: Run) -> Iterator[SourcePlace]:
    for rank in run.ranks:
        yield from rank.stack
        yield from rank.end.at if rank.end is not None else ()
        for record in (*rank.calls, *rank.logs):
            yield from record.at
