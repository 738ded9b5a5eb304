"""The fix for a loader that gives every rank all rows: a sampler that gives each of them its share."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import UnshardedData
from trl_lint.analysis.program.syntax import ancestors, last_name, of_class, precedes
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.edits import FixPlan, Import, NoFix, Replace
from trl_lint.fixes.support.importing import edits_for, has_place
from trl_lint.fixes.support.scope import scope_of
from trl_lint.fixes.support.tree import keyword_argument, keyword_of, text_of, with_keyword
from trl_lint.knowledge.process_starts import DISTINCT_STARTS
from trl_lint.knowledge.torch_distributed import ROWS_OF_LOADER, SHUFFLED_LOADER

_CHANGES = "an epoch has fewer steps with it"
_SAMPLER = Import("torch.utils.data", "DistributedSampler")


class UnshardedDataFix(RuleFix[UnshardedData]):
    title = "Give each rank its share of the rows"
    is_collective = False
    applicabilities = (Applicability.UNSAFE, Applicability.DISPLAY)
    # The epochs were not alike before, as the loader itself has shuffled; the sampler has to be told.
    uncovers = frozenset({"TRL019"})

    def plan(self, event: UnshardedData) -> FixPlan | NoFix:
        """The plan to pass a sampler, or why that is left to the author."""
        if event.prepared:
            return NoFix("`prepare` gives a loader its sampler")
        root = scope_of(event.function, event.module)
        if not isinstance(event.node, cst.Call) or not ancestors(root, event.node):
            return NoFix("the loader is made elsewhere")
        if not _has_group(event.module.tree, root, event.node):
            return NoFix("no process group is certain to exist here, which the sampler needs")
        call = _with_sampler(event.node)
        if isinstance(call, NoFix):
            return call
        if not has_place(event.module, _SAMPLER, event.node):
            return NoFix("there is no place to import the sampler")
        return FixPlan(
            (Replace(event.node, call), *edits_for(event.module, (_SAMPLER,), (event.node,))), caution=_CHANGES
        )


def _with_sampler(call: cst.Call) -> cst.Call | NoFix:
    """The call with a sampler that shuffles as the loader did."""
    if any(each.star for each in call.args):
        return NoFix("its options are passed as `*` or `**`")
    places = [each for each in call.args if each.keyword is None]
    rows = next((each for each in call.args if keyword_of(each) == ROWS_OF_LOADER[1]), next(iter(places), None))
    if rows is None or not isinstance(rows.value, (cst.Name, cst.Attribute)):
        return NoFix("no name is the data set")
    if len(places) > SHUFFLED_LOADER[0]:
        return NoFix("`shuffle` is passed by position")
    shuffle = next((each for each in call.args if keyword_of(each) == SHUFFLED_LOADER[1]), None)
    given = "False" if shuffle is None else text_of(shuffle.value)
    told = "" if given == "True" else f", {SHUFFLED_LOADER[1]}={given}"
    sampler = cst.parse_expression(f"{_SAMPLER.name}({text_of(rows.value)}{told})")
    left = [each for each in call.args if keyword_of(each) not in ("sampler", "batch_sampler")]
    if len(left) < len(call.args):
        return NoFix("it names `sampler` or `batch_sampler`")
    if shuffle is None:
        return with_keyword(call, "sampler", sampler)
    new = keyword_argument("sampler", sampler)
    changed = shuffle.with_changes(value=new.value, keyword=new.keyword, equal=new.equal)
    return call.with_changes(args=[changed if each is shuffle else each for each in call.args])


def _has_group(tree: cst.Module, root: cst.CSTNode, call: cst.Call) -> bool:
    """Whether code before a call starts a process group, whatever the conditions: itself, or in a function."""
    starting = {
        each.name.value
        for each in of_class(tree, cst.FunctionDef)
        if any(_is_start(inner) and _is_unconditional(each, inner, each.body) for inner in of_class(each, cst.Call))
    }
    return any(
        (_is_start(each) or (isinstance(each.func, cst.Name) and each.func.value in starting))
        and precedes(root, each, call)
        and _is_unconditional(root, each, call)
        for each in of_class(root, cst.Call)
    )


def _is_start(call: cst.Call) -> bool:
    return last_name(call.func) in DISTINCT_STARTS


def _is_unconditional(root: cst.CSTNode, start: cst.CSTNode, other: cst.CSTNode) -> bool:
    """Whether no condition is around a node that is not around another one too."""
    shared = {id(each) for each in ancestors(root, other)}
    kinds = (cst.If, cst.For, cst.While, cst.Try, cst.IfExp, cst.FunctionDef, cst.Lambda)
    around = [each for each in ancestors(root, start) if each is not root and isinstance(each, kinds)]
    return all(id(each) in shared for each in around)
