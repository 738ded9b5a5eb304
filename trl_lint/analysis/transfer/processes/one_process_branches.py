"""Branches that only a program of one process takes, beside a branch that starts the process group, or needs one.

For example:

    if config.distributed:                                    if "RANK" in os.environ:
        dist.init_process_group("nccl")                           dist.init_process_group("nccl")
    else:                                                         return dist.get_rank(), dist.get_world_size()
        device = "cpu"            of one process              return 0, 1               of one process

    if "RANK" not in os.environ:
        return 0, 1               of one process
    dist.init_process_group("nccl")

    if args.distributed:                                      if args.multi_node:
        sampler = DistributedSampler(rows)                        rank = int(os.environ["RANK"])
    else:                                                     else:
        SummaryWriter("logs")     of one process                  ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.blocks import ends_outside
from trl_lint.analysis.program.syntax import inwards, last_name, of_class
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.transfer.processes.job_flags import (
    asks_for_launcher,
    asks_for_several,
    flag_of,
    is_true_for_several,
    starts_group,
)
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import DISTRIBUTED_SETTING, is_rank_name
from trl_lint.knowledge.launcher_variables import REQUIRED_VARIABLES
from trl_lint.knowledge.process_starts import CALLED_BY_EACH, START_PROCESSES
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame

# What each process of a job calls, and a program of one process need not.
_OF_RANKS = CALLED_BY_EACH | {DISTRIBUTED_SAMPLER}
_NOTHING = (None, None)


def leaves_one_process(frame: Frame, node: cst.If) -> bool:
    """Whether a branch that was run has started the group, so that its condition is false for one process only; or
    whether it asks for a launcher.

    The other branch may start processes itself, or be for those of another launcher.
    """
    others = _fallback_after(frame, node) if node.orelse is None else (node.orelse,)
    if not others or not is_true_for_several(frame, node.test):
        return False
    return all(_is_of_one_launch(frame, other) for other in others)


def is_fallback(frame: Frame, node: cst.If) -> bool:
    """Whether a branch returns what one process gets, as no launcher is found; the group is started after it."""
    match node.test:
        case cst.Comparison(_, [cst.ComparisonTarget(cst.NotIn(), _)]):
            asked = node.test.with_changes(comparisons=[node.test.comparisons[0].with_changes(operator=cst.In())])
        case cst.UnaryOperation(cst.Not(), cst.Comparison() as asked):
            pass
        case _:
            return False
    body = node.body.body
    if node.orelse is not None or not _returns(body) or not asks_for_launcher(frame, asked):
        return False
    is_started = any(starts_group(frame, each) for each in _after(frame, node))
    return is_started and all(_is_of_one_launch(frame, each) for each in body)


def is_beside_ranks(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether one process runs code, as the other branch of a condition for several does what only ranks of a job do.

    For most conditions that is to read the launcher's rank. Where the setting has the name of distributed training, it
    may also ask for the rank, shard data or wrap a model, and this branch does nothing of the kind.
    """
    for outer, inner in inwards(frame.root, node):
        asked, other = _beside(outer, inner) if isinstance(outer, cst.If) else _NOTHING
        if asked is None or other is None:
            continue
        if asks_for_several(asked) and _reads_launcher(other):
            return True
        flag = flag_of(asked)
        is_named = isinstance(flag, (cst.Attribute, cst.Name)) and DISTRIBUTED_SETTING.fits(last_name(flag))
        is_beside = is_named and _is_of_ranks(frame, other) and not _is_of_ranks(frame, inner)
        if is_beside and _is_of_one_launch(frame, inner):
            return True
    return False


def _beside(branch: cst.If, inner: cst.CSTNode) -> tuple[cst.BaseExpression | None, cst.CSTNode | None]:
    """What is asked for where a node is in the branch without it, and the branch with it."""
    match branch.test:
        case cst.UnaryOperation(cst.Not(), denied):
            return (denied, branch.orelse) if inner is branch.body and isinstance(branch.orelse, cst.Else) else _NOTHING
    return (branch.test, branch.body) if inner is branch.orelse and isinstance(inner, cst.Else) else _NOTHING


def _reads_launcher(code: cst.CSTNode) -> bool:
    keys = (each.slice[0].slice for each in of_class(code, cst.Subscript))
    names = (each.value for each in keys if isinstance(each, cst.Index))
    return any(isinstance(each, cst.SimpleString) and each.raw_value in REQUIRED_VARIABLES for each in names)


def _is_of_ranks(frame: Frame, code: cst.CSTNode) -> bool:
    """Whether code asks which rank it is, shards data, or wraps a model for several processes."""
    called = (call.func for call in of_class(code, cst.Call))
    return any(
        is_rank_name(last_name(each)) or library.canonical(library_function_of(frame, each)) in _OF_RANKS
        for each in called
    )


def _is_of_one_launch(frame: Frame, code: cst.CSTNode) -> bool:
    """Whether a piece of code neither starts processes or the group, nor asks for a launcher."""
    if starts_group(frame, code):
        return False
    if any(each.raw_value in REQUIRED_VARIABLES for each in of_class(code, cst.SimpleString)):
        return False
    return not any(last_name(call.func) in START_PROCESSES for call in of_class(code, cst.Call))


def _fallback_after(frame: Frame, node: cst.If) -> Sequence[cst.CSTNode]:
    """What a function does behind a branch that starts the group and returns, if it only returns something else."""
    after = _after(frame, node)
    is_left = ends_outside(node.body) and starts_group(frame, node.body)
    return after if is_left and _returns(after) else ()


def _after(frame: Frame, node: cst.If) -> Sequence[cst.CSTNode]:
    """What follows a statement of the body of a function."""
    body = frame.root.body.body if isinstance(frame.root, cst.FunctionDef) else ()
    places = (place for place, each in enumerate(body, 1) if each is node)
    return body[next(places, len(body)) :]


def _returns(block: Sequence[cst.CSTNode]) -> bool:
    """Whether a block of plain statements ends by returning a value."""
    if not block or not all(isinstance(each, cst.SimpleStatementLine) for each in block):
        return False
    returned = of_class(block[-1], cst.Return)
    return bool(returned) and returned[-1].value is not None
