"""*own device*: every tensor that enters a collective is on the process's own device, as nccl requires.

With GPUs a collective itself refuses a tensor on the CPU, also where gloo runs it (`rank/in_place_of_nccl.py`).
Without one that is not visible, as gloo accepts tensors on the CPU. If accelerate places the tensors, one more run
tracks which of them would be on the device (`rank/placement.py`): that is an emulation, and is reported as one. A
script's own checks for GPUs make it take another branch here, so that there is no verdict.
"""

from __future__ import annotations

from trl_lint.reports import many
from trl_lint.verify.rank.placement import REFUSED
from trl_lint.verify.record.traces import Run
from trl_lint.verify.record.verdicts import Verdict, failed, passed, unknown

ORACLE = "own device"


def reason_not_needed(run: Run) -> str:
    """Why no devices are emulated for this run ("" if they are)."""
    if len(run.ranks) < 2:
        return "there is one rank only"
    if not all(rank.ended_well for rank in run.ranks):
        return "the run did not end"
    if all(rank.gpus for rank in run.ranks):
        return "the processes use GPUs, where a collective refuses a tensor on the CPU"
    if not all(rank.is_placed for rank in run.ranks):
        return "it asks for the CPU, or it is not accelerate that says where tensors are"
    if any(rank.asks_for_gpus for rank in run.ranks):
        return "the script asks for GPUs, and takes another way where there are none"
    return ""


def judge(emulated: Run) -> Verdict:
    """Whether all tensors in collectives are where they should be. emulated: a run with a device for each process."""
    refusing = [rank for rank in emulated.ranks if rank.end is not None and REFUSED in rank.end.message]
    if refusing:
        at = [str(place) for place in refusing[0].end.at] if refusing[0].end else []
        call = refusing[0].pending
        what = call.name if call is not None else "a collective"
        message = f"a tensor on the CPU enters {what}: nccl refuses that (devices are emulated)"
        evidence = [f"at {', called from '.join(at)}"] if at else []
        return failed(ORACLE, "device", message, evidence, ranks=[rank.number for rank in refusing], at=at)
    if not all(rank.ended_well for rank in emulated.ranks):
        return unknown(ORACLE, "with emulated devices it does not end")
    calls = sum(call.shape is not None for call in emulated.ranks[0].calls) if emulated.ranks else 0
    return passed(ORACLE, f"tensors of {many(calls, 'collective')} are on the process's own device (emulated)")
