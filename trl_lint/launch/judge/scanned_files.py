"""Which files may show how a project is run, by their names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import PurePath

from trl_lint.launch.parsers import readers

JSON = ".json"
YAML = (".yaml", ".yml")
# Its entry points name functions that become commands.
_ENTRIES = "setup.cfg"
# A file that says how a training is run is not larger than this.
LARGEST = 200_000


def is_wanted(name: str) -> bool:
    """Whether a file of this name may show an engine, or how a program is started."""
    path = PurePath(name)
    return path.suffix == JSON or name == _ENTRIES or readers.front_end(path) is not None


# Asked of every file of a project for each of its files.
@lru_cache(maxsize=1 << 14)
def is_document(name: str) -> bool:
    """Whether a file of this name is documentation."""
    return readers.front_end(PurePath(name)) in (readers.MARKDOWN, readers.RESTRUCTURED)
