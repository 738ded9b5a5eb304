"""Threads, and pools of them, of Python's standard library. Read from its documentation (3.13)."""

from __future__ import annotations

from trl_lint.knowledge.schema import UNKNOWN, Class, Function, Row

# Each class, and its methods that call a function with the elements of iterables, and with the arguments after it.
_POOLS = {
    "concurrent.futures.ThreadPoolExecutor": (("map",), ("submit",)),
    "multiprocessing.pool.ThreadPool": (("imap", "imap_unordered", "map"), ()),
}
MAP = frozenset(f"{pool}.{name}" for pool, (names, _) in _POOLS.items() for name in names)
SUBMIT = frozenset(f"{pool}.{name}" for pool, (_, names) in _POOLS.items() for name in names)
# It calls its `target` with `args`, once it is started.
THREAD, START = "threading.Thread", "start"

ROWS: tuple[Row, ...] = (
    Class(name=THREAD, source="library/threading"),
    *(Class(name=pool, source=f"library/{pool.rpartition('.')[0]}") for pool in _POOLS),
    *(
        Function(name=name, source=f"library/{name.rpartition('.')[0].rpartition('.')[0]}", returns=UNKNOWN)
        for name in sorted(MAP | SUBMIT)
    ),
)
