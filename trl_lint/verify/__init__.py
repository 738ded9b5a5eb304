"""Verification at run time: a script is run on several processes, each is watched, and oracles judge the runs.

```text
session.py ── launcher.py ── torchrun ── rank/ (in every process) ── one trace per rank
    │                                                                     │
    │                         oracles/ ── Verdict  <── Run (traces.py) ───┘
    └── mending.py (the fixed copy), fixtures.py (our own subjects), reports/ (what is printed)
```

No oracle knows a rule: they check how each rank ended, which collectives it ran, what it logged and what it trained.
"""
