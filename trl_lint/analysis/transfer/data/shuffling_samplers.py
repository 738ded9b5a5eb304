"""Samplers of torch that shuffle alike on all ranks, and loaders without any: found in the code that makes a loader.

sampler = DistributedSampler(rows) if distributed else None     the call is the sampler of a loader with `sampler`
DistributedSampler(rows, shuffle=train)                         none, unless `train` is known to be True
Buckets(rows, shuffle=True)                                     a class derived from it that seeds with its `epoch`, too
Dealing(rows, shuffle=True)                                     one of the project (`told_samplers.py`)
Repeated(DistributedSampler(rows))                              that in one of the project (`handed_on_indices.py`)
DataLoader(rows, shuffle=True)                                  it certainly has no sampler
DataLoader(rows, **options)                                     unknown, unless all options are: `options["sampler"]`
def load(rows, sampler): return DataLoader(rows, sampler=sampler)   what calls in the file pass, if one of it shuffles
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.idioms.mappings import stored_under
from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.project.passed_arguments import argument_for
from trl_lint.analysis.program.syntax import (
    assignments,
    attribute_values,
    below,
    innermost,
    is_literal_none,
    last_name,
    of_class,
    self_attribute,
)
from trl_lint.analysis.transfer.data.handed_on_indices import handed_on
from trl_lint.analysis.transfer.data.told_samplers import has_no_option, is_told, keeps_option
from trl_lint.analysis.transfer.data.whole_data import rows_of
from trl_lint.domain.kinds import is_none, library_name_of
from trl_lint.domain.loader_samplers import NoSampler, Sampling, ShufflingSampler
from trl_lint.knowledge import library
from trl_lint.knowledge.torch_distributed import (
    BATCHES_OF_SAMPLER,
    DISTRIBUTED_SAMPLER,
    EPOCH,
    OF_LOADER,
    SEEDS,
    SEQUENTIAL_SAMPLER,
    SHUFFLED_LOADER,
    SHUFFLES,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def sampling_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> Sampling | None:
    """The sampler that a loader is given with these arguments, if it is one that shuffles, or that it has none."""
    is_closed = args.star is None and args.double is None
    if is_closed and all(is_none(args.get(*each)) for each in OF_LOADER):
        rows = rows_of(frame, args)
        shuffles = _whether_shuffled(args)
        return rows and NoSampler(frame.module, node, rows.data, rows.expression, shuffles, frame.function)
    return _sampler_of(frame, args, node)


def _whether_shuffled(args: Arguments) -> bool | None:
    """Whether a loader without a sampler is to shuffle; None if that is not known."""
    shuffles = args.get(*SHUFFLED_LOADER)
    if is_none(shuffles) or shuffles is None:
        return False
    return shuffles.const if isinstance(shuffles.const, bool) else None


def _sampler_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> ShufflingSampler | None:
    given = next((found for each in OF_LOADER if (found := _given_as(frame, args, each, node)) is not None), None)
    if given is None:
        return None
    run = [each for each in _calls(frame, frame.root, given) if id(each) in frame.node_values]
    return _shuffling(frame, run) or _passed(frame, given)


def _shuffling(frame: Frame, calls: Iterable[cst.Call]) -> ShufflingSampler | None:
    """The sampler that calls have made, if each of them that makes one of torch's kind makes one that shuffles."""
    made = [each for each in calls if _is_sampler(frame, each)]
    return ShufflingSampler(frame.module, made[0]) if made and all(_shuffles(frame, each) for each in made) else None


def _passed(frame: Frame, node: cst.BaseExpression) -> ShufflingSampler | None:
    """A sampler that shuffles, of those that calls in the file pass for a parameter of this function.

    Which of them the loader gets is not known. A model is trained on the batches of one with a sampler that shuffles,
    unless there is one of another kind, which may be the one for the training.
    """
    function, tree = frame.function, frame.module.tree
    if function is None or not isinstance(node, cst.Name) or is_bound(function.node.body, node):
        return None
    found = None
    for call in of_class(tree, cst.Call) if any(each.name == node.value for each in function.parameters) else ():
        passed = argument_for(function, call, node.value) if last_name(call.func) == function.name else None
        if passed is None or is_literal_none(passed):
            continue
        made = list(_calls(frame, innermost(tree, call, cst.FunctionDef) or tree, passed))
        if not any(_is_sampler(frame, each) or _is_in_order(frame, each) for each in made):
            return None
        found = found or _shuffling(frame, made)
    return found


def _given_as(
    frame: Frame, args: Arguments, parameter: tuple[int, str], node: cst.CSTNode
) -> cst.BaseExpression | None:
    """The expression, in this function, for an argument of a call; also the only one in a dict: `**options`."""
    argument, name = args.node(*parameter), parameter[1]
    if argument is not None:
        return argument.value
    if name not in args.keywords or not isinstance(node, cst.Call):
        return None
    spread = (each.value for each in node.args if each.star == "**")
    stored = [found for each in spread for found in stored_under(frame.root, each, name)]
    return stored[0] if len(stored) == 1 else None


def _calls(frame: Frame, root: cst.CSTNode, node: cst.BaseExpression, depth: int = 3) -> Iterator[cst.Call]:
    """The calls in a function that may have made the value of an expression, and those of the sampler in it."""
    match node:
        case cst.Call(args=[first, *_]) if last_name(node.func) == BATCHES_OF_SAMPLER and depth:
            yield from _calls(frame, root, first.value, depth - 1)
        case cst.Call():
            made = _made_by(frame, node) if node.args and depth else None
            inner = handed_on(made.cls, node) if isinstance(made, ClassValue) else None
            if inner is None:
                yield node
            else:
                yield from _calls(frame, root, inner, depth - 1)
        case cst.IfExp(body=body, orelse=orelse):
            yield from _calls(frame, root, body, depth)
            yield from _calls(frame, root, orelse, depth)
        case cst.Name() | cst.Attribute() if depth:
            for target, value in assignments(root):
                if target.deep_equals(node) and not isinstance(value, (cst.Name, cst.Attribute)):
                    yield from _calls(frame, root, value, depth - 1)


def _is_sampler(frame: Frame, call: cst.Call) -> bool:
    """Whether a call makes a sampler of torch's own class, or of one that shuffles as that does."""
    made = _made_by(frame, call)
    if isinstance(made, ClassValue):
        is_heir = DISTRIBUTED_SAMPLER in map(library.canonical, made.cls.library_bases())
        return _seeds_by_epoch(made.cls) if is_heir else is_told(frame, made.cls)
    return library.canonical(library_name_of(made)) == DISTRIBUTED_SAMPLER


def _is_in_order(frame: Frame, call: cst.Call) -> bool:
    return library.canonical(library_name_of(_made_by(frame, call))) == SEQUENTIAL_SAMPLER


def _made_by(frame: Frame, call: cst.Call) -> Value:
    """The class of the project, or of a library, that a call makes an object of."""
    return frame.engine.settle(frame.engine.evaluate(frame, call.func))


def _seeds_by_epoch(cls: ClassInfo) -> bool:
    """Whether a class derived from torch's seeds the order of the rows with the `epoch` that it is told.

    def __iter__(self):
        generator.manual_seed(self.epoch)      seeded; not if the class sets `self.epoch` itself
        while True: ...                        not if there is one epoch without an end
    """
    gives = cls.find("__iter__")
    seeds = [] if gives is None else [each for each in of_class(gives.node, cst.Call) if last_name(each.func) == SEEDS]
    if gives is not None and not any(self_attribute(each) == EPOCH for call in seeds for each in below(call)):
        return False
    if gives is not None and any(_is_endless(each) for each in of_class(gives.node, cst.While)):
        return False
    values = (name for base in cls.project_lineage() for name, _ in attribute_values(base.node))
    counted = (each.target for base in cls.project_lineage() for each in of_class(base.node, cst.AugAssign))
    return EPOCH not in values and not any(self_attribute(each) == EPOCH for each in counted)


def _is_endless(loop: cst.While) -> bool:
    return isinstance(loop.test, cst.Name) and loop.test.value == "True"


def _shuffles(frame: Frame, call: cst.Call) -> bool:
    """Whether a call says, or leaves it to the class, that the sampler shuffles."""
    if any(each.star for each in call.args):
        return False
    made = _made_by(frame, call)
    makes = made.cls.find("__init__") if isinstance(made, ClassValue) else None
    position, name = SHUFFLES
    if makes is not None:
        names = [each.name for each in makes.parameters[1:]]
        if name not in names:
            return isinstance(made, ClassValue) and has_no_option(made.cls)
        if not (_hands_on(makes, name) or keeps_option(makes)):
            return False
        position = names.index(name)
    places = [each for each in call.args if each.keyword is None]
    given = [each for each in call.args if each.keyword is not None and each.keyword.value == name]
    given += places[position : position + 1]
    if not given and makes is not None:
        default = makes.parameters[1 + position].default
        return isinstance(default, cst.Name) and default.value == "True"
    return all(_is_true(frame, each.value) for each in given)


def _is_true(frame: Frame, node: cst.BaseExpression) -> bool:
    """Whether an expression of this function is known to be True, or is so in any."""
    known = frame.known_value(node)
    return isinstance(node, cst.Name) and node.value == "True" if known is None else known.const is True


def _hands_on(makes: FunctionInfo, name: str) -> bool:
    """Whether a constructor passes a parameter to that of its base class: `super().__init__(rows, shuffle=shuffle)`."""
    calls = (each for each in of_class(makes.node.body, cst.Call) if last_name(each.func) == "__init__")
    passed = (each for call in calls for each in call.args if each.keyword is not None and each.keyword.value == name)
    return any(isinstance(each.value, cst.Name) and each.value.value == name for each in passed)
