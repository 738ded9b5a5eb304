"""Files that the first process makes before Lightning starts the others, which run the script from its beginning.

For example:

    if not os.path.exists(path):
        np.save(path, table)          one process gets here: the others find the file
    trainer = Trainer(devices=4)
    trainer.fit(model)                they are started here

    if os.path.exists(path):
        if digest(path) == wanted:    what one process has just made is as wanted
            return path
    download(path)                    so the others do not get here either

    for rows in folds.split(data):    what it does before its first row, too
        trainer.fit(model, rows)
        np.save(path, scores)         but not this: in the second turn, all are there

    torchrun --nproc_per_node 4 …     all of them are started at once, and may get there
    Trainer(num_nodes=2)              so is the first one of each node

A Fabric starts them in its `launch`. What the constructor of a module or a data module makes is there by then, too.

Source: lightning/fabric/strategies/launchers/subprocess_script.py `_SubprocessScriptLauncher.launch`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Event, SideEffect
from trl_lint.analysis.program.blocks import ends_outside, last_statement
from trl_lint.analysis.program.definitions.lightning_trainers import imported_trainer
from trl_lint.analysis.program.idioms.path_conditions import Condition, alternatives, branch_of, parts_of
from trl_lint.analysis.program.idioms.path_constraints import is_implied, known_at
from trl_lint.analysis.program.syntax import (
    LOOPS,
    ancestors,
    assignments,
    below,
    callee_of,
    definitions_around,
    last_name,
    of_class,
    precedes,
)
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.event_trace import EventTrace, called_traces
from trl_lint.analysis.transfer.processes.wide_conditions import is_done_either_way
from trl_lint.domain.control import Control
from trl_lint.domain.kinds import class_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.lightning import FABRIC, LAUNCHES, MAKE_TRAINERS, NODES, RUNS_OF_TRAINER, TRAINERS

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.interpreter import Interpreter
    from trl_lint.domain.values import Value


class BeforeFit:
    """The ids of the nodes that a run has reached before it lets Lightning start the other processes."""

    def __init__(self) -> None:
        self.nodes: set[int] = set()
        self.is_started = False


def note(frame: Frame, receiver: Value, name: str, call: cst.CSTNode) -> None:
    """A method of an object is called."""
    found = frame.trace.notes.of(BeforeFit)
    if found.is_started or not (_starts_others(receiver, name) or _runs_model(frame, name, call)):
        return
    found.is_started = True
    if not _is_left_to_trainer(frame.trace) or _asks_for_nodes(frame.root):
        return
    early = _reached_once(frame.trace, _turns_around(frame, call))
    found.nodes = set(map(id, early))
    if frame.function is None or frame.module.trace is None:
        return
    # Another file may call this function: nothing in this one leads to it then.
    frame.module.trace.notes.of(BeforeFit).nodes |= found.nodes
    for node in early:
        frame.engine.note_stored(BeforeFit, frame.function, node)


def note_made(engine: Interpreter, constructor: FunctionInfo, trace: EventTrace) -> None:
    """What a program has its Trainer run is made before that: the nodes that a run of its constructor reaches."""
    module = constructor.module
    if module.trace is None:
        return
    for node in _reached_once(trace, None):
        module.trace.notes.of(BeforeFit).nodes.add(id(node))
        engine.note_stored(BeforeFit, constructor, node)


def _turns_around(frame: Frame, call: cst.CSTNode) -> frozenset[int] | None:
    """The ids of the nodes in the body of the outermost loop around a call; None if there is none."""
    loops = [each for each in ancestors(frame.root, call) if isinstance(each, LOOPS)]
    return _ids_below(loops[0].body) if loops else None


def _reached_once(trace: EventTrace, turns: frozenset[int] | None) -> list[cst.CSTNode]:
    """The nodes that a run has reached, without those that it reaches in later turns of a loop as well.

    turns: the ids of the nodes in the body of the loop, if the processes are started in one. It may go over what a
    generator of the project yields, which goes on in each turn.
    """
    traces, again = {id(each): each for each in called_traces(trace)}, set[int]()
    if turns is None:
        return [event.node for each in traces.values() for event in each.events.values()]
    late = {key: turns | _turns_of_generators(each.module) for key, each in traces.items()}
    for key, each in traces.items():
        for edge, summary in each.calls.items():
            if edge[0] in late[key]:
                again |= set(map(id, called_traces(summary.trace)))
    return [
        event.node
        for key, each in traces.items()
        for event in each.events.values()
        if key not in again and id(event.node) not in late[key]
    ]


def _turns_of_generators(module: Module | None) -> frozenset[int]:
    """The ids of the nodes that generators of a file run after they have yielded something."""
    return frozenset() if module is None else _after_yields(module.tree)


@tree_cache(16)
def _after_yields(tree: cst.Module) -> frozenset[int]:
    late = set[int]()
    for function in of_class(tree, cst.FunctionDef):
        yields = [each for each in of_class(function.body, cst.Yield) if definitions_around(tree, each)[-1] is function]
        if yields:
            first = yields[0]
            outermost = next((each for each in ancestors(function, first) if isinstance(each, LOOPS)), first)
            late |= _ids_below(outermost)
            late |= {id(each) for each in below(function.body) if precedes(function, outermost, each)}
    return frozenset(late)


def _ids_below(node: cst.CSTNode) -> frozenset[int]:
    return frozenset(map(id, below(node)))


def _starts_others(receiver: Value, name: str) -> bool:
    cls = class_name_of(receiver)
    return (name in RUNS_OF_TRAINER and cls in TRAINERS) or (name == LAUNCHES and cls == FABRIC)


def _runs_model(frame: Frame, name: str, call: cst.CSTNode) -> bool:
    """Whether a Trainer runs a model that is made as nothing else is: `Trainer.from_argparse_args(args).fit(model)`."""
    if name not in RUNS_OF_TRAINER or not imported_trainer(frame.module):
        return False
    match call:
        case cst.Call(func=cst.Attribute(value=cst.Name(trainer))):
            assigned = ((each, value) for each, value in assignments(frame.root) if isinstance(each, cst.Name))
            makers = [last_name(callee_of(value)) for each, value in assigned if each.value == trainer]
        case cst.Call(func=cst.Attribute(value=cst.Call(func=maker))):
            makers = [last_name(maker)]
        case _:
            return False
    return bool(makers) and MAKE_TRAINERS.issuperset(makers)


def nodes_of(program: EventTrace) -> set[int]:
    """The ids of the nodes that a program reaches before Lightning starts the other processes."""
    return {node for trace in called_traces(program) for node in trace.notes.of(BeforeFit).nodes}


def is_first(event: Event) -> bool:
    """Whether an event changes files only as long as they do not exist."""
    return isinstance(event, SideEffect) and any(
        _is_without_file(each, event.node) and not is_done_either_way(each, event.effect, event.node)
        for each in event.control.conditions
        if each.rank.origins == Origin.IO
    )


def _is_without_file(condition: Control, node: cst.CSTNode) -> bool:
    """Whether a node is reached where a question about files is answered by no.

    A node in another function is called from there.
    """
    test = place_of(condition)
    root = condition.provenance.module.tree
    branch = branch_of(root, test) if test is not None else None
    if branch is None or not isinstance(branch.test, cst.BaseExpression):
        return False
    if ancestors(branch.body, node):
        return _is_negated(branch.test)
    if ancestors(branch, node):
        return _is_plain_where(branch.test, root, node)
    leaves = ends_outside(branch.body) or _leaves_if_right(branch)
    if ancestors(root, node) and definitions_around(root, node) == definitions_around(root, branch):
        return leaves and _is_plain_where(branch.test, root, node)
    return _is_negated(branch.test) or ((leaves or branch.orelse is not None) and _is_plain(branch.test))


def _leaves_if_right(branch: cst.If) -> bool:
    """Whether the body for a file that is there ends where what is in it is as wanted: `if digest(path) == wanted:`."""
    inner = last_statement(branch.body)
    return isinstance(inner, cst.If) and ends_outside(inner.body) and _is_of_file(inner.test, branch.test, cst.Equal)


def _is_negated(test: cst.BaseExpression) -> bool:
    """`not exists(path)`, possibly with others that must hold as well; or several, of which one has to hold."""
    if isinstance(test, cst.BooleanOperation):
        if isinstance(test.operator, cst.And):
            return _is_negated(test.left) or _is_negated(test.right)
        missing = [each for each in alternatives(test) if not _is_of_file(each, test, cst.NotEqual)]
        return bool(missing) and all(map(_is_negated, missing))
    if isinstance(test, cst.UnaryOperation):
        return isinstance(test.operator, cst.Not) and _is_plain_alone(parts_of(test.expression), test.expression)
    return _counts_files(test, cst.NotEqual, cst.LessThan)


def _is_plain(test: cst.BaseExpression) -> bool:
    """`exists(path)`, `len(files) == wanted`."""
    return isinstance(test, (cst.Attribute, cst.Call, cst.Name)) or _counts_files(test, cst.Equal, cst.GreaterThanEqual)


def _is_plain_where(test: cst.BaseExpression, root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """The same; other parts of a test must hold at a place, too: `path is not None and exists(path)`."""
    if not isinstance(test, cst.BooleanOperation):
        return _is_plain(test)
    around = definitions_around(root, node)
    known = list(known_at(around[-1] if around else root, node))
    return _is_plain_alone([each for each in parts_of(test) if not is_implied(Condition(each, True), known)], test)


def _is_plain_alone(parts: Sequence[cst.BaseExpression], test: cst.BaseExpression) -> bool:
    """Whether one part of a test asks for a file, and the others at most for what is in it."""
    left = [each for each in parts if not _is_of_file(each, test, cst.Equal)]
    return len(left) == 1 and _is_plain(left[0])


def _is_of_file(test: cst.BaseExpression, asked: cst.BaseExpression, operator: type[cst.BaseCompOp]) -> bool:
    """Whether what is read from a file that is asked for is compared in this way: `digest(path) == wanted`.

    The process that has made the file has left it as wanted.
    """
    match test:
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=found)]) if isinstance(found, operator):
            read = [file for call in of_class(test, cst.Call) for file in _files(call)]
            files = [file for part in _questions(asked) for call in of_class(part, cst.Call) for file in _files(call)]
            return any(one.deep_equals(other) for one in read for other in files)
    return False


def _questions(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The parts of a test that are no comparisons."""
    match test:
        case cst.BooleanOperation(left=left, right=right):
            return [*_questions(left), *_questions(right)]
        case cst.UnaryOperation(expression=inner):
            return _questions(inner)
        case cst.Comparison():
            return []
    return [test]


def _files(call: cst.Call) -> list[cst.BaseExpression]:
    """What may be the file that a call is about: its arguments, or the object whose method it calls."""
    owner = [call.func.value] if isinstance(call.func, cst.Attribute) else []
    return [each.value for each in call.args] or owner


def _counts_files(test: cst.BaseExpression, *operators: type[cst.BaseCompOp]) -> bool:
    """Whether a number of files is compared with the wanted one, in one of these ways."""
    match test:
        case cst.Comparison(
            left=cst.Call(func=cst.Name("len")),
            comparisons=[cst.ComparisonTarget(operator=operator, comparator=wanted)],
        ):
            is_none = isinstance(wanted, cst.Integer) and wanted.value == "0"
            return isinstance(operator, operators) and not is_none
    return False


def _is_left_to_trainer(trace: EventTrace) -> bool:
    """Whether nothing before has shown that there are several processes, but that a Trainer or a Fabric is made."""
    node = None if trace.start is None else trace.start.node
    return node is None or (isinstance(node, cst.Call) and last_name(node.func) in _MAKE_THEM)


@tree_cache(64)
def _asks_for_nodes(root: cst.CSTNode) -> bool:
    """Whether code makes a Trainer, or a Fabric, for several nodes by number."""
    made = (each for each in of_class(root, cst.Call) if last_name(each.func) in _MAKE_THEM)
    given = (arg for each in made for arg in each.args if arg.keyword is not None and arg.keyword.value == NODES)
    return any(isinstance(arg.value, cst.Integer) and arg.value.evaluated_value > 1 for arg in given)


_MAKE_THEM = MAKE_TRAINERS | {FABRIC.rpartition(".")[2]}
