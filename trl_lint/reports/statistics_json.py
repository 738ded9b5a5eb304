"""The same counts in machine-readable form, as in ruff."""

from __future__ import annotations

import json

from trl_lint.reports import statistics


class Report(statistics.Report):
    """A list with an object per rule."""

    def close(self) -> None:
        rows = [
            {
                "code": row.code,
                "name": row.name,
                "count": row.count,
                "fixable": row.fixable > 0,
                "fixable_count": row.fixable,
            }
            for row in self.counts()
        ]
        json.dump(rows, self.out, indent=2)
        self.out.write("\n")
