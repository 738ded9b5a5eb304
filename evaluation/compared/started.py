"""What the compared launchers start: `started.py PROGRAM ARGS` runs a program as it is, so that the tools can report.

torch gives a collective up after 30 minutes. To save time, this happens after `GIVE_UP_SECONDS` here. torch writes the
flight recorder when a collective of nccl is given up; with gloo it has to be asked, and is, all the time, if
`FLIGHT_RECORDER` names a folder.

torch's own analyser can't read what the recorder says of gloo's group (`KeyError` in
`torch/distributed/flight_recorder/components/builder.py` of torch 2.13.0): its collectives belong to a group `0`, which
is listed without a name. It is written with a name here.
"""

from __future__ import annotations

import atexit
import os
import pickle
import runpy
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

SECONDS, FOLDER = "GIVE_UP_SECONDS", "FLIGHT_RECORDER"
DUMP = "trace_rank_"
LOOK_SECONDS = 0.2


def main() -> None:
    import torch.distributed.distributed_c10d as c10d

    c10d.default_pg_timeout = timedelta(seconds=float(os.environ[SECONDS]))
    if folder := os.environ.get(FOLDER):
        atexit.register(_dump, Path(folder))
        threading.Thread(target=_dump_on, args=(Path(folder),), daemon=True).start()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(sys.argv[0])
    runpy.run_path(sys.argv[0], run_name="__main__")


def _dump_on(folder: Path) -> None:
    """Write the recorder again and again: a rank may end at any moment."""
    while True:
        time.sleep(LOOK_SECONDS)
        _dump(folder)


def _dump(folder: Path) -> None:
    from torch._C._distributed_c10d import _dump_fr_trace  # type: ignore[attr-defined]

    rank = os.environ["RANK"]
    part = folder / f"part{rank}-{threading.get_ident()}"
    part.write_bytes(pickle.dumps(with_its_group(pickle.loads(_dump_fr_trace()))))
    part.replace(folder / f"{DUMP}{rank}")


def with_its_group(dump: dict[str, Any]) -> dict[str, Any]:
    """The recorder's content, with a name for the one group that it lists without a name."""
    groups = {tuple(entry["process_group"]) for entry in dump.get("entries", ())}
    unnamed = dump["pg_config"].get("")
    if unnamed is None or len(groups) != 1:
        return dump
    ((name, description),) = groups
    return {**dump, "pg_config": {name: {**unnamed, "name": name, "desc": description}}}


if __name__ == "__main__":
    main()
