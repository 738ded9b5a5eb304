"""Files and folders that some ranks write, and that all of them use although nothing makes the others wait.

The events of a program:

    if rank == 0: torch.save(table, path)
    table = torch.load(path)                    FileUnawaited

    if rank == 0: torch.save(table, path)
    dist.barrier()
    table = torch.load(path)                    none: all ranks wait for the first one

    if rank == 0:
        torch.save(table, path)
        table = torch.load(path)                none: whoever reads it has written it

    if rank == 0: os.makedirs(folder)
    torch.save(states, f"{folder}/{rank}.pt")   FileUnawaited(makes_folder=True)

What a function writes at its end, and what it reads at its beginning, is taken over by its callers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.path_events import FileUnawaited
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.exclusive_places import excluded_by_all
from trl_lint.analysis.program.idioms.handled_errors import MISSING_FILE, is_caught
from trl_lint.analysis.program.idioms.path_parts import Path, is_bound_between, is_within, paths_of, replaced
from trl_lint.analysis.program.syntax import callee_of, last_name, precedes
from trl_lint.analysis.state.observing import CalleeRun, Observer
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import LoadedFiles, PathValue
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Kind
from trl_lint.knowledge.effects import METHODS, MODES, OF_LOADED, OF_MODELS, OF_PATHS, ONLY_PATHS_HAVE, OPENERS, WRITES
from trl_lint.knowledge.file_reads import (
    FOLDERS_OF,
    LISTINGS_OF_ONE,
    MAKE_FOLDERS,
    PAUSES,
    READERS,
    READS_FOLDER,
    SHOW_PROGRESS,
)
from trl_lint.knowledge.heuristics import MAY_WAIT

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.sync_points import SyncPoint
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Effect, Row

# How many uses of files are kept of one function; more of them are ignored.
_MOST_USES = 48
# What a rank may get if it reads too early.
_FOUND_MISSING = frozenset({"BaseException", "EnvironmentError", "Exception", "IOError", "OSError", MISSING_FILE})
_WRITES = ("writes", "creates the same folder")


class _FileUse(NamedTuple):
    """A use of a path. node: in the function that has it or calls it. at: where it is.

    control: which ranks get there. makes_folder: whether it only makes a folder. writes_folder: whether it writes one.
    """

    paths: tuple[Path, ...]
    node: cst.CSTNode
    name: str
    at: Step
    control: Control
    makes_folder: bool = False
    writes_folder: bool = False

    @property
    def is_of_some(self) -> bool:
        """Whether the rank decides who gets there, if not alone: `rank == 0 and not os.path.exists(path)`."""
        return any(
            each.uniformity is Uniformity.DIVERGENT and each.rank.origins in (Origin.RANK, Origin.RANK | Origin.IO)
            for each in self.control.conditions
        )


class UsedFiles:
    """The files that a run of a function writes and reads, by their places, and where it waits otherwise."""

    def __init__(self) -> None:
        self.writes: dict[tuple[int, int], _FileUse] = {}
        self.reads: dict[tuple[int, int], _FileUse] = {}
        self.pauses: dict[int, cst.CSTNode] = {}


class UnawaitedFiles(Observer["Frame"]):
    emits = frozenset({FileUnawaited})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name in PAUSES:
            _pause(frame, node)
        if name in OPENERS:
            mode = args.get(1, MODES.get(name, "mode"))
            path = args.node(*OPENERS[name])
            if mode is None or isinstance(mode.const, str):
                is_write = mode is not None and str(mode.const)[:1] in WRITES
                _note(frame, node, path, name.removeprefix("builtins."), is_write=is_write)
        elif name in READERS:
            _note(frame, node, args.node(*READERS[name]), name)
        elif name.endswith(f".{READS_FOLDER}"):
            _note(frame, node, args.nodes.get(FOLDERS_OF.get(name, 0)), READS_FOLDER)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        if row is not None and row.effect is not None and name not in OPENERS:
            _write(frame, row.effect, name, args, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if isinstance(receiver, PathValue) or (name in ONLY_PATHS_HAVE and receiver.kind is Kind.UNKNOWN):
            _on_path(frame, name, args, node)
            return
        kinds = OF_LOADED if isinstance(receiver, LoadedFiles) else OF_MODELS
        effect = kinds.get(name) or METHODS.get(name)
        if effect is not None:
            _write(frame, effect, name, args, node)

    def on_unknown_call(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        if MAY_WAIT.fits(frame.module.tree.code_for_node(callee_of(node))):
            _pause(frame, node)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        theirs, mine = run.trace.notes.of(UsedFiles), frame.trace.notes.of(UsedFiles)
        if theirs is mine or not (theirs.writes or theirs.reads or theirs.pauses):
            return
        waits = _waits(run.sync_points, theirs)
        given = _given(frame, function, node)
        for key, each in theirs.reads.items():
            if not any(precedes(function.node, wait, each.node) for wait in waits):
                _add(frame, mine.reads, key, _passed(frame, each, given, node))
        _check_reads(frame, node)
        for key, each in theirs.writes.items():
            if not any(precedes(function.node, each.node, wait) for wait in waits):
                _add(frame, mine.writes, key, _passed(frame, each, given, node))
        if theirs.pauses:
            _pause(frame, node)


def _pause(frame: Frame, node: cst.CSTNode) -> None:
    frame.trace.notes.of(UsedFiles).pauses[id(node)] = node


def _on_path(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """A method of a path: `path.write_text(text)`, `path.open()`, `folder.iterdir()`."""
    owner = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    if owner is None:
        return
    mode = args.get(0, "mode")
    if name in OF_PATHS and OF_PATHS[name].does.startswith(_WRITES):
        _note(frame, node, owner, name, is_write=True)
    elif name == "open" and (mode is None or isinstance(mode.const, str)):
        _note(frame, node, owner, name, is_write=mode is not None and str(mode.const)[:1] in WRITES)
    elif name in ("read_bytes", "read_text", "iterdir"):
        _note(frame, node, owner, name)


def _write(frame: Frame, effect: Effect, name: str, args: Arguments, node: cst.CSTNode) -> None:
    if effect.path is not None and effect.does.startswith(_WRITES):
        many = effect.does.endswith("files")
        _note(frame, node, args.node(*effect.path), name, is_write=True, writes_folder=many)


def _note(
    frame: Frame,
    node: cst.CSTNode,
    path: cst.Arg | cst.BaseExpression | None,
    name: str,
    *,
    is_write: bool = False,
    writes_folder: bool = False,
) -> None:
    expression = path.value if isinstance(path, cst.Arg) else path
    control = frame.memory.control
    if expression is None or _may_be_ordered(control) or is_test(frame.function):
        return
    known = frame.value_of(expression)
    if known.rank.differs and not is_write:
        return
    code = frame.module.tree.code_for_node
    paths = _written_out(known) or paths_of(frame.root, expression, code)
    last = name.rpartition(".")[2]
    at = frame.step(node, "only some ranks write it here: `{}`", control.provenance)
    use = _FileUse(paths, node, last if is_write else name, at, control, last in MAKE_FOLDERS, writes_folder)
    used = frame.trace.notes.of(UsedFiles)
    key = (id(node), id(node))
    _add(frame, used.writes if is_write else used.reads, key, use)
    _check(frame, use, is_write=is_write)


def _may_be_ordered(control: Control) -> bool:
    """Whether ranks may get to a place one after the other."""
    first = control.first_rank
    return first is not None and (first.scope != "unknown" or last_name(_callee(first.node)) not in SHOW_PROGRESS)


def _callee(item: cst.CSTNode | None) -> cst.CSTNode | None:
    call = item.item if isinstance(item, cst.WithItem) else item
    return call.func if isinstance(call, cst.Call) else None


def _add(frame: Frame, uses: dict[tuple[int, int], _FileUse], key: tuple[int, int], use: _FileUse | None) -> None:
    if use is not None and (len(uses) < _MOST_USES or key in uses):
        uses[id(use.node), key[1]] = use


def _passed(frame: Frame, use: _FileUse, given: Mapping[str, tuple[Path, ...]], node: cst.CSTNode) -> _FileUse | None:
    """A use in a function as its caller sees it."""
    known = (replaced(each, given) for each in use.paths)
    paths = tuple(each for each in known if each is not None)
    control = frame.memory.control.under(use.control)
    return use._replace(paths=paths, node=node, control=control) if paths else None


def _given(frame: Frame, function: FunctionInfo, node: cst.CSTNode) -> Mapping[str, tuple[Path, ...]]:
    """The paths that a call passes, by parameter; its object is passed as well."""
    if not isinstance(node, cst.Call):
        return {}
    code, root = frame.module.tree.code_for_node, frame.root
    parameters = [each for each in function.parameters if not each.star]
    found: dict[str, tuple[Path, ...]] = {}
    if function.cls is not None and not function.is_static and parameters:
        owner = parameters.pop(0).name
        if isinstance(node.func, cst.Attribute):
            found[owner] = paths_of(root, node.func.value, code)
    for each in parameters:
        if each.default is not None:
            found[each.name] = paths_of(function.node, each.default, code)
    for place, arg in enumerate(node.args):
        if arg.star:
            return {}
        name = arg.keyword.value if arg.keyword is not None else ""
        if not name and place < len(parameters):
            name = parameters[place].name
        found[name] = _written_out(frame.value_of(arg.value)) or paths_of(root, arg.value, code)
    return found


def _written_out(value: Value) -> tuple[Path, ...]:
    """The path that a value is known to be, if all of it is known."""
    text = value.const
    return ((text.removeprefix("./").rstrip("/"),),) if isinstance(text, str) and text and WILDCARD not in text else ()


def _waits(points: Iterable[SyncPoint], used: UsedFiles) -> list[cst.CSTNode]:
    """Where ranks wait for each other, or may."""
    return [*(each.node for each in points), *used.pauses.values()]


def _check_reads(frame: Frame, node: cst.CSTNode) -> None:
    for each in list(frame.trace.notes.of(UsedFiles).reads.values()):
        if each.node is node:
            _check(frame, each)


def _check(frame: Frame, use: _FileUse, *, is_write: bool = False) -> None:
    """Emit an event if all ranks use what only some have written before."""
    used = frame.trace.notes.of(UsedFiles)
    if use.is_of_some or is_caught(frame.root, use.node, _FOUND_MISSING):
        return
    waits = _waits(frame.sync_points, used)
    for write in list(used.writes.values()):
        path = _needed(use, write, is_write=is_write) if write.is_of_some else None
        if path is None or not precedes(frame.root, write.node, use.node) or not _is_by_all(use, write):
            continue
        is_folder = is_write or write.makes_folder
        if _is_in_order(frame, write, use, waits) and not _is_made_by_all(used, path, is_folder=is_folder):
            _emit(frame, use, write, is_folder=is_folder)
            return


def _needed(use: _FileUse, write: _FileUse, *, is_write: bool) -> Path | None:
    """What is written that has to be there for a use."""
    if is_write:
        is_folder = (write.makes_folder or write.writes_folder) and not use.makes_folder
        return next((each for each in write.paths if is_folder and _are_within(use.paths, each)), None)
    if write.makes_folder and use.name not in LISTINGS_OF_ONE:
        return None
    return next((each for each in write.paths if each in use.paths), None)


def _are_within(paths: Iterable[Path], folder: Path) -> bool:
    return any(is_within(path, folder) for path in paths)


def _is_by_all(use: _FileUse, write: _FileUse) -> bool:
    """Whether all ranks get to a use, as far as they get to the write."""
    before = {id(place_of(each)) for each in write.control.conditions}
    return all(
        id(place_of(each)) in before
        or (each.uniformity is Uniformity.UNKNOWN and each.rank == ranks.SETTING)
        or each.rank.origins == Origin.IO
        for each in use.control.conditions
    )


def _is_in_order(frame: Frame, write: _FileUse, use: _FileUse, waits: Iterable[cst.CSTNode]) -> bool:
    """Whether a process goes from a write to a use, and no rank has to wait on the way."""
    root = frame.root
    if any(precedes(root, write.node, each) and precedes(root, each, use.node) for each in waits):
        return False
    if id(write.node) in excluded_by_all(root, [use.node]):
        return False
    return not any(is_bound_between(root, each, write.node, use.node) for each in (*write.paths, *use.paths))


def _is_made_by_all(used: UsedFiles, path: Path, *, is_folder: bool) -> bool:
    """Whether each rank writes the same itself, or makes the folder or one in it."""
    by_all = [each for each in used.writes.values() if not each.is_of_some and each.makes_folder is is_folder]
    return any(path in each.paths or (is_folder and _are_within(each.paths, path)) for each in by_all)


def _emit(frame: Frame, use: _FileUse, write: _FileUse, *, is_folder: bool) -> None:
    frame.emit(
        FileUnawaited,
        use.node,
        name=use.name,
        written=write.at,
        makes_folder=is_folder,
        accelerator=frame.accelerator(),
    )


OBSERVER = UnawaitedFiles()
