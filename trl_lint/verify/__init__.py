"""Proof at run time: a script is started on several processes, watched on each, and judged by oracles.

```text
session.py ── launcher.py ── torchrun ── rank/ (in every process) ── one trace per rank
    │                                                                     │
    │                         oracles/ ── Verdict  <── Run (traces.py) ───┘
    └── mending.py (the fixed copy), fixtures.py (our own subjects), reports/ (what is printed)
```

Oracles know no rules: they look at how each rank ended, which collectives it ran, what it logged and what it trained.
"""
