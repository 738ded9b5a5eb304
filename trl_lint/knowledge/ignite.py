"""Ignite's helpers for `torch.distributed`. Read from pytorch-ignite 0.5.5 (`ignite/distributed/{auto,utils}.py`).

Its collectives also take Python numbers: these travel as tensors on this process's device
(`comp_models/base.py`: `ComputationModel._collective_op`).
"""

from __future__ import annotations

from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    GLOBAL_RANK_INDEX,
    NOTHING,
    RANK_INDEX,
    REPLICATED_MODEL,
    WRAP,
    Class,
    Collective,
    Function,
    Row,
)

_DIST = "ignite.distributed"
_SOURCE = "ignite/distributed/utils.py::"
_AUTO = "ignite/distributed/auto.py::"
# The method of an engine that registers a handler, as a decorator: `@trainer.on(Events.STARTED)`. Its name is common,
# so the file must name the library.
# Source: ignite/engine/engine.py `Engine.on`
REGISTERS_HANDLER = "on"
NAMES_IGNITE = rb"\bignite\b"
# fmt: off
ROWS: tuple[Row, ...] = (
    # A sampler of its own gives each rank a share, or shares out what another one picks; not so a batch sampler.
    Function(name=f"{_DIST}.auto_dataloader", source=f"{_AUTO}auto_dataloader", returns="shared out"),
    Class(name=f"{_DIST}.Parallel", source="ignite/distributed/launcher.py::Parallel"),
    # A function that makes a DistributedDataParallel; on one process with several GPUs, a DataParallel.
    Class(name=f"{_DIST}.auto_model", source=f"{_AUTO}auto_model", makes=REPLICATED_MODEL, synchronises=WRAP),
    Collective(name=f"{_DIST}.all_gather", source=f"{_SOURCE}all_gather", operand=(0, "tensor"), lists=True, fails="",
               groups=((1, "group"),)),
    Collective(name=f"{_DIST}.all_reduce", source=f"{_SOURCE}all_reduce", operand=(0, "tensor"), result="reduced",
               into=(0, "tensor"), returned=True, fails="", reduction=(1, "op", "sum"), groups=((2, "group"),)),
    Collective(name=f"{_DIST}.barrier", source=f"{_SOURCE}barrier", operand=(-1, ""), result="barrier", fails=""),
    Collective(name=f"{_DIST}.broadcast", source=f"{_SOURCE}broadcast", operand=(0, "tensor"), result="broadcast",
               fails=""),
    Function(name=f"{_DIST}.get_local_rank", source=f"{_SOURCE}get_local_rank", returns=RANK_INDEX),
    Function(name=f"{_DIST}.get_node_rank", source=f"{_SOURCE}get_node_rank", returns=RANK_INDEX),
    Function(name=f"{_DIST}.get_rank", source=f"{_SOURCE}get_rank", returns=GLOBAL_RANK_INDEX),
    Function(name=f"{_DIST}.get_world_size", source=f"{_SOURCE}get_world_size", returns=ALL_PROCESSES),
    *(
        Function(name=f"{_DIST}.{name}", source=f"{_SOURCE}{name}", returns=NOTHING)
        for name in ("finalize", "initialize")
    ),
)
# fmt: on
