"""TRL's trainers over their generations."""

from __future__ import annotations

from trl_lint.knowledge.schema import Row

ROWS: tuple[Row, ...] = ()
