"""Entries of containers that a collective is passed: `{"loss": 0.5}` has a number with the key `loss`."""

from __future__ import annotations

from typing import NamedTuple


class NumberEntry(NamedTuple):
    """A Python number in a "dict", a "list" or a "set". key: its key in a dict, if known."""

    container: str
    key: str = ""
