"""The parts of `verified.py`: real released trainers, run as they are, after `--fix`, and as upstream fixed them.

```text
cases.py ── trials.py ── Trial ──┬── facts.py (figures that must hold)
 (data)     (runs, fixes)        ├── page.py  (docs/verified.md)
                                 └── curve.py (the plot)
```
"""
