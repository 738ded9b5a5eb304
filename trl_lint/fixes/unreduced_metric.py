"""The fix for a metric that one rank computed: gather it where it is logged, and repeat its reduction.

`x.mean().cpu()` becomes `accelerator.gather(x.mean()).mean().cpu()`: the gathered value has one element, so its shape
is the same on all ranks, and the end of the expression stays as it was.
"""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from trl_lint.analysis.events import Logged
from trl_lint.analysis.observers.backends import uses_accelerate
from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.project.classes import FunctionInfo, is_module_class
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors, keyword_value
from trl_lint.analysis.transfer.tensors.tensor_devices import may_be_cpu
from trl_lint.domain.control import Uniformity
from trl_lint.domain.ranks import METRIC, Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.blocks import torch_in_reach
from trl_lint.fixes.support.bound_numbers import bound_number
from trl_lint.fixes.support.collecting import before_cpu, before_numpy, collected, on_device
from trl_lint.fixes.support.edits import FixPlan, NoFix, Replace
from trl_lint.fixes.support.gradients import may_have_gradient, may_reach_a_loss
from trl_lint.fixes.support.logged import (
    Gathered,
    LogSite,
    binding_of,
    core_of,
    is_number,
    may_be_constant,
    with_accelerator,
)
from trl_lint.fixes.support.placing import placed
from trl_lint.fixes.support.policy import DIVERGENT, NOT_KNOWN
from trl_lint.fixes.support.ratios import ratio_of
from trl_lint.fixes.support.reduced_before import reduced_before
from trl_lint.fixes.support.reductions import REPEATED, needs_cast, written_reduction
from trl_lint.fixes.support.scope import scope_of
from trl_lint.fixes.support.tree import call_of, keyword_of, text_of, with_keyword, with_replaced
from trl_lint.fixes.support.uses import only_shown, read_again
from trl_lint.knowledge.library import keeps_from_reducing, reduces
from trl_lint.knowledge.lightning import OF_EPOCHS, OF_EVALUATION, OF_TRAINING, TRAINS
from trl_lint.knowledge.python import COMPILED_DECORATORS
from trl_lint.knowledge.torch_ops import of_method
from trl_lint.wording import Surroundings, surroundings_of

_UNKNOWN_REASON = "it is not known how to combine the ranks' values"
_EVERY_ITERATION = "it is gathered where it is computed, in every iteration, so that all ranks take part"
# Why a reduction can't be repeated over the ranks' results. Not in torch_ops: kinds of reductions.
_NOT_REPEATED = {
    METRIC: "the metric over all samples can't be computed from the ranks' own",
    "std": "the deviation over all ranks is not a mean of the ranks' deviations",
    "var": "the variance over all ranks is not a mean of the ranks' variances",
    "median": "the median over all ranks can't be computed from the ranks' medians",
    "quantile": "a quantile over all ranks can't be computed from the ranks' quantiles",
}
# Nodes around the expression because of which it is not evaluated exactly once.
_CONDITIONAL = (cst.Lambda, cst.CompFor, cst.IfExp, cst.BooleanOperation, cst.DictComp, cst.ListComp, cst.SetComp,
                cst.GeneratorExp)  # fmt: skip


class UnreducedMetricFix(RuleFix[Logged]):
    title = "Gather it over the ranks"
    is_collective = False  # `placed` checks the place where it is logged
    uncovers = frozenset({"TRL007"})

    def title_for(self, event: Logged) -> str:
        return "Average it over the ranks" if reduces(event.sink) else self.title

    def plan(self, event: Logged) -> FixPlan | NoFix:
        """The plan to gather a metric in the statement of the event that logs it, or why that is left to the author."""
        (write,) = event.writes
        keyword = reduces(event.sink)
        if keyword:
            return _reduced_by_library(event, keyword)
        payload = write.payload
        if payload is None:
            return NoFix("what is logged is not one expression there")
        assert isinstance(write.module, Module)  # only files of the project are edited
        root = scope_of(payload.function, write.module)
        place = LogSite(write.module, root, write.node, payload, write.name)
        problem = _unsuitable(place)
        return NoFix(problem, _help(place)) if problem else _plan(place)


def _reduced_by_library(event: Logged, keyword: str) -> FixPlan | NoFix:
    """The plan to have the call that logs a metric reduce it, which all ranks have to make."""
    call = event.node
    if event.control.uniformity is Uniformity.DIVERGENT or not isinstance(call, cst.Call):
        return NoFix(DIVERGENT)
    if any(each.module is not event.module for each in event.writes):
        return NoFix("it is logged in another file")
    if any(arg.star == "**" for arg in call.args):
        where = f"pass `{keyword}=True` where the evaluation calls `{event.function}`" if event.function else ""
        return NoFix(f"what is passed on with `**` may contain `{keyword}`", where)
    if event.function is not None and _also_trains(event.function):
        return NoFix(f"`{event.function.name}` may also run in training, where it would be reduced in every step")
    unless = keeps_from_reducing(event.sink)
    given = keyword_value(call, unless)
    if given is not None and not _is_literal(given, "False"):
        return _reduced_instead(event, call, keyword, unless)
    caution = "" if event.control.uniformity is Uniformity.UNIFORM else NOT_KNOWN
    return FixPlan((Replace(call, with_keyword(call, keyword, cst.Name("True"))),), caution=caution)


def _reduced_instead(event: Logged, call: cst.Call, keyword: str, unless: str) -> FixPlan | NoFix:
    """The plan to have a call reduce the metric that it is told not to reduce."""
    given = next(each for each in call.args if keyword_of(each) == unless)
    if event.control.uniformity is not Uniformity.UNIFORM:
        return NoFix(f"it is not known whether all ranks get there, and `{unless}` is for one that is alone")
    if keyword_value(call, keyword) is not None or not _is_literal(given.value, "True"):
        return NoFix(f"`{unless}` may be meant to log the value of the first rank")
    other = given.with_changes(keyword=cst.Name(keyword))
    mended = call.with_changes(args=[other if each is given else each for each in call.args])
    return FixPlan((Replace(call, mended),), caution=f"`{unless}` may be meant to log the value of the first rank")


def _is_literal(value: cst.BaseExpression, name: str) -> bool:
    return isinstance(value, cst.Name) and value.value == name


def _also_trains(function: FunctionInfo) -> bool:
    """Whether what a module trains on may come here, too: a hook of a training calls it, or that of a subclass may."""
    cls = function.cls
    # What a hook of a training or a test logs for its epoch is reported as such.
    if cls is None or function.name in OF_TRAINING | OF_EPOCHS:
        return False
    if cls.find(TRAINS) is None and function.name not in OF_EVALUATION:
        return True
    return any(each is function for hook in OF_TRAINING for each in methods_run_by(cls, hook))


def _plan(place: LogSite) -> FixPlan | NoFix:
    core, value, _ = core_of(place, place.expression, place.payload.value)
    known = None if _needed_for_more(place) else reduced_before(place, core, value)
    if known is not None:
        return FixPlan((Replace(core, known),))
    found = _gathered(place)
    if isinstance(found, Gathered) and (reason := _needed_for_more(place)):
        found = NoFix(reason)
    if isinstance(found, NoFix) or found.is_number or found.moves or found.lines:
        for binding in (binding_of, bound_number):
            bound_plan = _where_bound(place, binding(place))
            if bound_plan is not None:
                return bound_plan
    if isinstance(found, NoFix):
        return found
    plan = placed(place, found)
    if isinstance(plan, FixPlan) and not plan.caution and may_reach_a_loss(place):
        return replace(plan, caution="a loss computed from it elsewhere would no longer have a gradient")
    return plan


def _where_bound(place: LogSite, binding: LogSite | None) -> FixPlan | None:
    """The plan to gather a value where it is bound; None if that is impossible."""
    better = None if binding is None else _gathered(binding)
    if binding is None or not isinstance(better, Gathered) or better.is_number:
        return None
    plan = placed(binding, better)
    if isinstance(plan, NoFix):
        return None
    is_outside = binding.payload.control is not place.payload.control
    return replace(plan, caution=_EVERY_ITERATION) if is_outside and not plan.caution else plan


def _needed_for_more(place: LogSite) -> str:
    """Why the value passed on here must not be replaced by a gathered one; "" if it may be."""
    if place.payload.value.kind is Kind.NUMBER:
        return ""
    if place.payload.passed_to is not None:
        function, name = place.payload.passed_to
        if not only_shown(function.node, name, numeric=not may_have_gradient(place)):
            return f"`{function.name}` also uses it for something else"
    return "the stored value is read again" if read_again(place.root, place.statement) else ""


def _unsuitable(place: LogSite) -> str:
    """Why nothing can be gathered where it is logged, whatever it is; "" if it may be possible."""
    owner, payload = place.payload.function, place.payload
    if isinstance(place.root, cst.Lambda):
        return "it is in a lambda"
    if any(isinstance(node, _CONDITIONAL) for node in ancestors(place.statement, payload.expression)):
        return "the expression is not evaluated exactly once where it is logged"
    if owner is not None and (owner.decorators & COMPILED_DECORATORS):
        return "a collective does not belong in a function that is compiled or run again"
    if owner is not None and owner.cls is not None and is_module_class(owner.cls):
        return "a collective does not belong in the forward of a module"
    return "" if payload.accelerator or payload.reducers else "no `Accelerator` is available here"


def _help(place: LogSite) -> str:
    surroundings = surroundings_of(place.module, place.payload.function)
    may_have_one = surroundings is Surroundings.ACCELERATE and uses_accelerate(place.module)
    text = _text(place) if may_have_one or surroundings is Surroundings.TRAINER else ""
    return f"gather it at a point that all ranks reach, where an `Accelerator` is available: `{text}`" if text else ""


def _text(place: LogSite) -> str:
    """What the author may write if the tool can't: the expression, gathered by an accelerator."""
    found = _gathered(with_accelerator(place, "accelerator"))
    if isinstance(found, NoFix) or found.lines or len(found.replaced) != 1:
        return ""
    return text_of(with_replaced(place.expression, found.replaced))


def _gathered(place: LogSite) -> Gathered | NoFix:
    """The expression that gathers the logged value and repeats its reduction; or why there is none."""
    payload = place.payload
    if Origin.RANK in payload.value.rank.origins:
        return NoFix("it depends on the rank")
    core, value, proven = core_of(place, place.expression, payload.value)
    ratio = ratio_of(place, core)
    if ratio is not None:
        return ratio
    how = value.rank.how if value.rank.state in (State.PARTIAL, State.LOCAL) else ""
    if how not in REPEATED:
        return NoFix(_NOT_REPEATED.get(how, _UNKNOWN_REASON))
    if not (value.scalar or proven or value.kind is Kind.NUMBER):
        return NoFix("it may have more than one element")
    numeric = is_number(value)
    reason = _reason_without_tensor(place, core, value)
    if reason:
        return NoFix(reason)
    written = written_reduction(core)
    reduction = written if written is not None and _is_same_reduction(written, how) else REPEATED[how]
    before = before_numpy(place, core) if numeric and reduction == written else None
    moves = may_be_cpu(value) and (numeric or before_cpu(place, core) is core)
    reduced = collected(place, before or _tensor_of(place, core, value, reduction), reduction)
    if reduced is None:
        return NoFix("no reducer available here computes this")
    gathered, imports = reduced
    # `.item()` or `float(…)` of an array also moves the tensor to the host.
    ends_here = value.kind is Kind.NUMBER or (numeric and not proven)
    if ends_here:
        gathered = call_of(gathered, "item")
    if may_be_cpu(value) and not numeric and not proven:
        gathered = call_of(gathered, "cpu")  # a value on the CPU stays there
    if numeric and before is None:
        torch = torch_in_reach(place.module, place.root, place.statement)
        if isinstance(torch, NoFix):
            return torch
        imports += torch
    return Gathered(((core, gathered),), numeric, ends_here, moves, imports, (), reduction)


def _tensor_of(place: LogSite, core: cst.BaseExpression, value: Value, reduction: str) -> cst.BaseExpression:
    """The tensor to gather, of numbers that can be reduced."""
    tensor = on_device(place, core, value)
    return call_of(tensor, "float") if needs_cast(value, reduction, written_reduction(core)) else tensor


def _reason_without_tensor(place: LogSite, core: cst.BaseExpression, value: Value) -> str:
    """Why there may be no tensor to gather; "" if there is one, or a number to create one from."""
    if value.kind not in (Kind.TENSOR, Kind.BATCH, Kind.NUMBER):
        return "it is not known whether it is a tensor"
    if may_be_constant(place, core):
        return "on some path to the log it is a number, not a tensor"
    if not place.payload.accelerator and (is_number(value) or may_be_cpu(value)):
        return "no `Accelerator` is available here for the device of the tensor"
    return ""


def _is_same_reduction(written: str, how: str) -> bool:
    """Whether a reduction as written is the one in the facts."""
    return of_method(written).reduction == how or (written == "nanmean" and how == "mean")
