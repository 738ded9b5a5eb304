"""SpeechBrain's helpers for several processes, and its `Brain`.

Read from speechbrain 1.1 (`speechbrain/utils/distributed.py`, `speechbrain/core.py`). A program calls `ddp_init_group`
first, which starts a group where a launcher has set the rank. Inside `run_on_main`, `ddp_barrier` does nothing.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import (
    BARRIER,
    GLOBAL_RANK_INDEX,
    NOTHING,
    RANK_GUARD,
    RANK_INDEX,
    UNKNOWN,
    Class,
    Collective,
    Function,
    OpaqueCall,
    Row,
    Synchronisation,
)

STARTS = "speechbrain.utils.distributed.ddp_init_group"
_BRAIN = "speechbrain.Brain"
_DIST = "speechbrain.utils.distributed"
_SOURCE = "speechbrain/utils/distributed.py::"
_CORE = "speechbrain/core.py::"
# fmt: off
ROWS: tuple[Row, ...] = (
    Function(name=STARTS, source=f"{_SOURCE}ddp_init_group", returns=NOTHING),
    Function(name=f"{_DIST}.get_local_rank", source=f"{_SOURCE}get_local_rank", returns=RANK_INDEX),
    Function(name=f"{_DIST}.get_rank", source=f"{_SOURCE}get_rank", returns=GLOBAL_RANK_INDEX),
    *(Function(name=f"{_DIST}.{name}", source=f"{_SOURCE}{name}", returns=RANK_GUARD)
      for name in ("if_main_process", "is_local_rank_zero")),
    # The first process runs a function, and the others wait for it.
    *(Function(name=f"{_DIST}.{name}", source=f"{_SOURCE}{name}", returns=UNKNOWN, synchronises=BARRIER)
      for name in ("run_on_main", "run_once_per_node")),
    Collective(name=f"{_DIST}.ddp_all_reduce", source=f"{_SOURCE}ddp_all_reduce", operand=(0, "communication_object"),
               result="reduced", into=(0, "communication_object"), returned=True, reduction=(1, "reduce_op", "sum")),
    Collective(name=f"{_DIST}.ddp_barrier", source=f"{_SOURCE}ddp_barrier", operand=(-1, ""), result="barrier",
               fails=""),
    Collective(name=f"{_DIST}.ddp_broadcast", source=f"{_SOURCE}ddp_broadcast", operand=(0, "communication_object"),
               result="broadcast", lists=True, fails=""),
    # The first process makes the folder.
    Function(name="speechbrain.create_experiment_directory", source=f"{_CORE}create_experiment_directory",
             returns=NOTHING, synchronises=BARRIER),
    Class(name=_BRAIN, source=f"{_CORE}Brain"),
    OpaqueCall(name=f"{_BRAIN}.fit", source=f"{_CORE}Brain.fit", synchronises=Synchronisation("train")),
)
# fmt: on

# The methods of a program's own brain that `fit` and `evaluate` call on each process. Only the batches of the training
# are shared out, so nothing is known of what they get.
RUN_BY_ALL = {
    _BRAIN: frozenset({
        "compute_forward", "compute_objectives", "evaluate_batch", "fit_batch", "init_optimizers", "on_evaluate_start",
        "on_fit_batch_end", "on_fit_batch_start", "on_fit_start", "on_stage_end", "on_stage_start", "optimizers_step",
    }),
}  # fmt: skip
# Code that joins several processes: without it, a brain is one process.
STARTS_SEVERAL = rb"\bddp_init_group\("
# The module that has this class.
HAVE_RUN_BY_ALL = (b"speechbrain",)
