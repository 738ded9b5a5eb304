"""What `verified.py` is made of: real released trainers, run as they are, after `--fix`, and as upstream mended them.

```text
cases.py ── trials.py ── Trial ──┬── facts.py (figures that must hold)
 (data)     (runs, mends)        ├── page.py  (docs/verified.md)
                                 └── curve.py (the plot)
```
"""
