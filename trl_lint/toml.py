"""Parse TOML, and types for its values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from datetime import date, time

Toml: TypeAlias = "str | int | float | date | time | list[Toml] | dict[str, Toml]"
Table: TypeAlias = dict[str, Toml]


def parse(text: str) -> Table:
    """The top-level table of a document.

    Raises:
        ValueError: it is not valid TOML.
        RecursionError: it is nested too deeply.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)
