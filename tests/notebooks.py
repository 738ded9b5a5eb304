"""Notebooks for tests, built from the sources of their cells, and the lines of the file for places in them."""

from __future__ import annotations

import json
from typing import Any

from trl_lint.findings import Position
from trl_lint.launch.parsers.notebook_places import CellPlaces

PYTHON = {"kernelspec": {"name": "python3", "language": "python"}, "language_info": {"name": "python"}}
OUTPUT = [{"name": "stdout", "output_type": "stream", "text": ["step é\n", '"10"\n']}]


def notebook(*sources: str | tuple[str, str], metadata: Any = PYTHON, form: int = 4, **layout: Any) -> str:
    """The JSON of a notebook with these cells: code, or a kind and its source. layout: arguments of `json.dumps`."""
    cells = []
    for number, each in enumerate(sources):
        kind, source = each if isinstance(each, tuple) else ("code", each)
        cell = {"cell_type": kind, "id": f"c{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
        cells.append({**cell, "outputs": OUTPUT, "execution_count": number} if kind == "code" else cell)
    whole = {"cells": cells, "metadata": metadata, "nbformat": form, "nbformat_minor": 5}
    return json.dumps(whole, **{"indent": 1, "ensure_ascii": False, **layout}) + "\n"


def sources_of(text: str) -> list[str]:
    """The sources of all cells."""
    return ["".join(each["source"]) for each in json.loads(text)["cells"]]


def line_in_file(text: str, cell: int, line: int) -> int:
    """The line in a notebook's file for a line of a cell; without cells, that line itself."""
    return CellPlaces(text).in_file(Position(line, 1, cell=cell)).line if cell else line
