"""Metrics of an evaluation that are shown to the user: each rank has those of its own batches.

Events of a program in which gradients are off and the loader is a prepared one:

    for batch in loader:
        hits = (model(batch["x"]).argmax(-1) == batch["y"]).float().mean()
        print(hits)                       none: it shows the progress of the rank
        accuracy.append(hits.item())
    mean = sum(accuracy) / len(accuracy)
    print(f"accuracy {mean}")             MetricShown(sink="print", what="mean")
    print0(f"accuracy {mean}")            MetricShown(sink="print0"), of a function of the project that prints it
    with open("log.txt", "a") as file:
        file.write(f"accuracy {mean}")    MetricShown(sink="file.write", in_file=True)
    with open(f"{rank}.txt", "a") as file:
        file.write(f"accuracy {mean}")    none: each rank has a file of its own
    figures = {"accuracy": mean}
    print(figures)                        the same as of `mean`, for what the dict holds
    print(figures["accuracy"])            none: it has been shown
    print(rank, mean)                     none: it says which rank the metric is from
    if isnan(mean): print(mean); exit(1)  none: it says why this rank stops
    logging.basicConfig(level=INFO if rank == 0 else WARN)
    logging.info(mean)                    MetricShown(sink="logging.info", of_main=True)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import Event, Logged, MetricShown
from trl_lint.analysis.program.blocks import is_before_a_failure
from trl_lint.analysis.program.idioms.path_conditions import is_bound
from trl_lint.analysis.program.idioms.shown_texts import cells_of, shown_by, shown_in
from trl_lint.analysis.program.idioms.written_files import path_of
from trl_lint.analysis.program.project.passed_arguments import by_position, parameter_for
from trl_lint.analysis.program.syntax import ancestors, below, keyword_value, last_name, precedes
from trl_lint.analysis.state.event_trace import called_traces
from trl_lint.analysis.state.observing import CalleeRun, Observer
from trl_lint.analysis.transfer.processes import for_other_ranks, log_levels
from trl_lint.domain.kinds import PathValue
from trl_lint.domain.provenance import Evaluated, steps
from trl_lint.domain.ranks import AVERAGES, METRIC, Origin, Rank, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.effects import WRITE_ROWS, WRITE_TEXTS
from trl_lint.knowledge.loggers import (
    DUMPS,
    INFORMS,
    PRINT,
    PRINTS_ANYWAY,
    REPLACES_PRINT,
    SHOWS,
    SHOWS_OF_MAIN_UNLESS,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.knowledge.schema import Row

# The kinds of synchronisation points at which values are exchanged.
_EXCHANGES = frozenset({"gathered", "objects", "reduced"})
# Longer expressions are not quoted.
_LONGEST = 40
_OF_OWN_DATA = frozenset({Origin.DATA, Origin.DATA | Origin.RANK})
# A variable as it is shown: `100 * accuracy`, `loss.item()`.
_SCALED = re.compile(r"(?:[\d.]+ ?\* ?)?([^\W\d]\w*)(?:\.item\(\))?(?: ?[*/] ?[\d.]+)?")
# What a model gives, which may be a number.
_TENSORS = frozenset({Kind.BATCH, Kind.TENSOR})
# What the format of a number with digits after the point ends with.
_DIGITS = ("e", "f", "g", "%")
# The file of `print`.
_FILE = "file"
# The streams that are no files.
_STREAMS = frozenset({"stderr", "stdout"})


class ShownParameters:
    """The parameters that a function prints, logs or writes to a file, as they are; of_main: on some ranks only."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.of_main = False


class LevelsByRank:
    """The loggers whose level a run, or code of a file, sets by the rank (see `log_levels`), each with the file."""

    def __init__(self) -> None:
        self.loggers: set[tuple[Module, str]] = set()


class ShownMetrics(Observer["Frame"]):
    emits = frozenset({MetricShown})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in DUMPS:
            data, file = (args.node(*each) for each in DUMPS[name])
            if data is not None and file is not None and _is_common(frame, file.value):
                _emit(frame, name, node, shown_in(frame.root, [data.value]), in_file=True)
        elif name in SHOWS:
            self._show(frame, name, node)
        _note_level(frame, name, args, node)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if name in SHOWS and receiver is not None:
            self._show(frame, name, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in WRITE_TEXTS and isinstance(node, cst.Call) and _is_written(frame, receiver, name, node):
            cells = [cell for arg in node.args for cell in cells_of(arg.value)]
            _emit(frame, _text(frame, node.func) or name, node, shown_in(frame.root, cells), in_file=True)
        _note_level(frame, name, args, node)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        """A function that shows what it gets: the call of it is what shows it."""
        shown = run.trace.notes.of(ShownParameters)
        if shown.names and isinstance(node, cst.Call):
            texts = [arg.value for arg in node.args if _is_for(function, node, arg, shown.names)]
            _emit(
                frame,
                _text(frame, node.func) or function.name,
                node,
                shown_in(frame.root, texts),
                of_main=shown.of_main,
            )

    @staticmethod
    def _show(frame: Frame, name: str, node: cst.CSTNode) -> None:
        if not isinstance(node, cst.Call):
            return
        file = next((arg.value for arg in node.args if arg.keyword is not None and arg.keyword.value == _FILE), None)
        in_file = file is not None and last_name(file) not in _STREAMS
        if file is None or not in_file or _is_common(frame, file):
            of_main = not in_file and _prints_on_main(frame, name, node)
            shown = shown_by(frame.root, node)
            _emit(frame, name.removeprefix("builtins."), node, shown, in_file=in_file, of_main=of_main)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Report a metric once per function, and not if a tracker logs it as well: that is reported there.

        What a function passes on, or writes to a file, is not reported where another function shows it directly.
        """
        reported: set[tuple[int, int, str]] = set()
        for logged in events:
            if isinstance(logged, Logged):
                reported.update((id(logged.function), id(loop), "") for loop in _loops(logged.value))
        direct = [each for each in events if isinstance(each, MetricShown) and _is_direct(each)]
        seen_in = {*reported, *((id(each.function), id(each.loop), "") for each in direct)}
        remaining = []
        for event in events:
            if isinstance(event, MetricShown):
                place = (id(event.function), id(event.loop))
                names = _names(event)
                if any((*place, name) in reported for name in ("", *(names[:2] if _is_direct(event) else names))):
                    continue
                if not _is_direct(event) and any(loop == place[1] and one != place[0] for one, loop, _ in seen_in):
                    continue
                seen_in.add((*place, ""))
                reported.update({(*place, names[0] or " "), *((*place, name) for name in names[2:])})
            remaining.append(event)
        return _shown_at_levels(remaining, program)


def _note_level(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    logger = log_levels.set_by_rank(frame, name, args, node)
    if logger is not None:
        for notes in (frame.trace.notes, frame.module.notes):
            notes.of(LevelsByRank).loggers.add((frame.module, logger))
        frame.engine.note_stored("level", frame.module, logger)


def _shown_at_levels(events: list[Event], program: EventTrace) -> list[Event]:
    """The events; those of logs that show less on the other ranks, by the level that the program sets, are of one."""
    if not any(isinstance(each, MetricShown) and each.sink in INFORMS for each in events):
        return events
    in_program = {each for run in called_traces(program) for each in run.notes.of(LevelsByRank).loggers}
    return [
        replace(each, of_main=True) if isinstance(each, MetricShown) and _is_by_level(each, in_program) else each
        for each in events
    ]


def _is_by_level(event: MetricShown, in_program: set[tuple[Module, str]]) -> bool:
    """Whether the level of the log that shows a metric is set by the rank, in the program or in the same file."""
    loggers = in_program | event.module.notes.of(LevelsByRank).loggers
    is_of_all = any(name == log_levels.OF_ALL for _, name in loggers)
    return event.sink in INFORMS and (is_of_all or (event.module, _logger_of(event)) in loggers)


def _logger_of(event: MetricShown) -> str | None:
    """The name of the logger that shows something: `logger` of `logger.info(x)`."""
    match event.node:
        case cst.Call(func=cst.Attribute(value=cst.Name(name))):
            return name
    return None


def _emit(
    frame: Frame,
    sink: str,
    node: cst.CSTNode,
    expressions: Iterable[cst.BaseExpression],
    *,
    in_file: bool = False,
    of_main: bool = False,
) -> None:
    """Report the metrics among what a call shows; what it gets from the caller is noted for that one to report."""
    printed = [(each, frame.node_values[id(each)]) for each in expressions if id(each) in frame.node_values]
    passed = {id(each): name for each, _ in printed if (name := _passed_on(frame, each))}
    if any(_is_rank(value) if id(each) in passed else _names_rank(value) for each, value in printed):
        return
    if frame.memory.control.is_chosen_by_rank and for_other_ranks.are_met(frame, node):
        return
    if is_before_a_failure(frame.root, node):
        return
    if passed:
        of_caller = frame.trace.notes.of(ShownParameters)
        of_caller.names.update(passed.values())
        of_caller.of_main |= of_main or frame.memory.control.is_chosen_by_rank
    for expression, shown in printed:
        if id(expression) in passed:
            continue
        shown_values = _values_in(frame, shown)
        figures = (each for each in shown_values if _is_figure(each) or _has_digits(frame, expression, each))
        value = next(figures, None)
        loop = None if value is None else next(_loops(value), None)
        if value is None or loop is None or any(each is node for each in below(loop)):
            continue
        if _may_be_reduced(frame, loop, node):
            continue
        what = _text(frame, expression)
        said = {"sink": sink, "what": what, "value": value, "loop": loop, "in_file": in_file, "of_main": of_main}
        frame.emit(MetricShown, node, tag=what, **said)


def _prints_on_main(frame: Frame, name: str, node: cst.Call) -> bool:
    """Whether the program has replaced `print` by what only prints on the main process, or a logger only logs there."""
    if (usual := SHOWS_OF_MAIN_UNLESS.get(name)) is not None:
        given = ((keyword_value(node, keyword), value) for keyword, value in usual.items())
        return all(each is None or (isinstance(each, cst.Name) and each.value == value) for each, value in given)
    if name != PRINT or keyword_value(node, PRINTS_ANYWAY) is not None:
        return False
    return frame.engine.project.mentions_anywhere(REPLACES_PRINT)


def _is_rank(value: Value) -> bool:
    """Whether a parameter is the rank itself; a text may be of a rank's share."""
    return value.kind is Kind.NUMBER and value.rank.origins == Origin.RANK


def _names_rank(value: Value) -> bool:
    """Whether it is the rank, or a text with the rank in it."""
    return Origin.RANK in value.rank.origins and value.kind not in _TENSORS and not _is_figure(value)


def _text(frame: Frame, expression: cst.CSTNode) -> str:
    """The code of an expression; "" if it is long."""
    text = frame.module.tree.code_for_node(expression)
    return text if len(text) <= _LONGEST and "\n" not in text else ""


def _passed_on(frame: Frame, expression: cst.BaseExpression) -> str:
    """The parameter that a function shows as it gets it, without a change before; "" for anything else."""
    function = frame.function
    if function is None or not isinstance(expression, cst.Name) or is_bound(function.node.body, expression):
        return ""
    return next((each.name for each in function.parameters if each.name == expression.value), "")


def _is_for(function: FunctionInfo, call: cst.Call, arg: cst.Arg, names: set[str]) -> bool:
    """Whether an argument is for one of the parameters of these names, or for the rest if that is one of them."""
    parameter = parameter_for(function, call, arg)
    if parameter is not None:
        return parameter.name in names
    rest = next((each.name for each in function.parameters if each.star == "*"), "")
    plain = by_position(function, isinstance(call.func, cst.Attribute))
    is_rest = arg.keyword is None and not arg.star and call.args.index(arg) >= len(plain)
    return rest in names and is_rest


def _is_written(frame: Frame, receiver: Value, name: str, node: cst.Call) -> bool:
    """Whether a method writes to a file in which a metric does not belong to one rank."""
    if isinstance(receiver, PathValue):
        return _is_of_all(frame, receiver.rank)
    if receiver.kind is not Kind.UNKNOWN or name not in WRITE_ROWS or not isinstance(node.func, cst.Attribute):
        return False
    return _is_common(frame, node.func.value)


def _is_common(frame: Frame, file: cst.BaseExpression) -> bool:
    path = path_of(frame.root, file)
    return _is_of_all(frame, (UNKNOWN if path is None else frame.value_of(path)).rank)


def _is_of_all(frame: Frame, path: Rank) -> bool:
    """Whether a file at a path is not this rank's own: all ranks know it, or only some of them write to it."""
    if Origin.RANK in path.origins:
        return False
    return path.is_uniform or frame.memory.control.is_chosen_by_rank


def _is_direct(event: MetricShown) -> bool:
    """Whether it is printed or logged by a library's function."""
    return not event.in_file and (event.sink in SHOWS or f"builtins.{event.sink}" in SHOWS)


def _names(event: MetricShown) -> tuple[str, str, str, str]:
    """What a metric is called: by the whole expression, the dict that it is an entry of, the variable in it (`=x`).

    The last is for all entries of a dict (`x[`), to know the dict by when it is written after one of them is printed.
    """
    scaled = _SCALED.fullmatch(event.what)
    whole = event.what.partition("[")[0]
    return event.what, whole, f"={scaled[1] if scaled else event.what}", f"{whole}["


def _values_in(frame: Frame, shown: Value) -> Iterator[Value]:
    """A value that is shown, and what a dict that is shown whole holds: `print(metric.compute())`."""
    yield shown
    for cell in frame.memory.cells(shown):
        if cell.shape == "dict":
            yield from cell.values()


def _loops(value: Value) -> Iterator[cst.CSTNode]:
    for step in steps(value.provenance):
        if isinstance(step, Evaluated) and step.loop is not None:
            yield step.loop


def _may_be_reduced(frame: Frame, loop: cst.CSTNode, shown: cst.CSTNode) -> bool:
    """Whether the function around a loop reduces something under a condition, perhaps for several ranks only.

    What it reduces before the loop is not what it shows after it: the loss of the training, say.
    """
    is_shown_after = precedes(frame.root, loop, shown)
    for point in frame.sync_points:
        places = [point.node, *(step.node for step in steps(point.via))]
        if is_shown_after:
            places = [place for place in places if not precedes(frame.root, place, loop)]
        if point.kind in _EXCHANGES and any(_is_conditional_outside(frame, loop, place) for place in places):
            return True
    return False


def _is_conditional_outside(frame: Frame, loop: cst.CSTNode, place: cst.CSTNode) -> bool:
    """Whether a place is under an `if` in the function of a loop, and not inside the loop. Both are in one file."""
    tree = frame.module.tree
    around, outer = ancestors(tree, place), ancestors(tree, loop)
    functions = [each for each in outer if isinstance(each, cst.FunctionDef)]
    if functions and not any(each is functions[-1] for each in around):
        return False
    inner = [each for each in around if not any(each is other for other in outer)]
    return any(isinstance(each, cst.If) for each in inner) and not any(each is loop for each in inner)


def _has_digits(frame: Frame, expression: cst.BaseExpression, value: Value) -> bool:
    """Whether a text has digits of what a model gives, so that it is a number: `f"{loss:.4f}"`."""
    if value.kind not in _TENSORS or not _is_of_own_data(value):
        return False
    match ancestors(frame.root, expression):
        case [*_, cst.FormattedStringExpression(format_spec=[cst.FormattedStringText(spec)])]:
            return spec.endswith(_DIGITS)
    return False


def _is_figure(value: Value) -> bool:
    """Whether it is a mean, a ratio or a metric, and not a count of this rank's work."""
    is_number = value.kind is Kind.NUMBER or (value.kind is Kind.TENSOR and value.scalar)
    return is_number and _is_of_own_data(value)


def _is_of_own_data(value: Value) -> bool:
    rank = value.rank
    if rank.origins not in _OF_OWN_DATA or value.dtype in ("bool", "int"):
        return False
    return rank.how in AVERAGES | {METRIC} or (rank.state is State.LOCAL and not rank.how)


OBSERVER = ShownMetrics()
