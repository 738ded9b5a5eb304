"""Paths: how they are composed, and the calls that ask the disk about them.

For example:

    Path(args.output_dir) / "x"         PathValue, with the rank of a setting
    args.output_dir / "x"               the same: nothing else is divided by a text
    os.path.join(args.output_dir, "x")  a text with the rank of a setting; with "x.pt", of a known end
    (root / "x").exists()               local(io)
    (root / "x.json").read_text()       SETTING, as all ranks read the same file
    root.glob("*.json")                 an iterable of paths found by each rank: local(io), provenance=SharedName
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, callee_of, last_name, names_in, of_class
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import CREATED
from trl_lint.domain.derived import derived
from trl_lint.domain.heap import WILDCARD
from trl_lint.domain.kinds import IterableValue, PathValue, flag
from trl_lint.domain.provenance import RankLocalFile, SharedName
from trl_lint.domain.ranks import Rank
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge.effects import (
    ASK_DISK,
    COPIES,
    FILE_SYSTEM,
    LIST_FOLDERS,
    PARTS_OF_PATHS,
    READ_PATHS,
    RETURN_PATHS,
)
from trl_lint.knowledge.file_systems import IN_MEMORY
from trl_lint.knowledge.heuristics import SHOWS_PATH
from trl_lint.knowledge.schema import created, items

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments


def path_of(rank: Rank, *sources: Value) -> PathValue:
    """A path composed of these values."""
    return derived(ranks.nonlinear(rank), Kind.STRING, *sources, device="").as_a(PathValue)


def new_path(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`Path("out", name)`."""
    return path_of(args.rank(), *args.all())


def text_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`os.path.abspath(name)`."""
    return derived(ranks.nonlinear(args.rank()), Kind.STRING, *args.all(), device="")


def joined_text_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`os.path.join(folder, name)`.

    Only what follows the last dot is kept: a function that gets a path has a context for each text that differs. With
    a part that is not empty, it is never empty either.
    """
    path = text_of(frame, args, node)
    name = args.positional[-1].const if args.positional and not args.star else None
    ending = PurePosixPath(name).suffix if isinstance(name, str) else ""
    if ending and WILDCARD not in ending:
        return path.replace(const=WILDCARD + ending)
    is_filled = path.rank.differs and any(type(each.const) is str and each.const for each in args.positional)
    return path.replace(const=CREATED) if is_filled else path


def file_system(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fsspec.filesystem("file")`."""
    protocol = args.get(0, "protocol")
    return UNKNOWN if protocol is not None and protocol.const == IN_MEMORY else created(FILE_SYSTEM)


def file_system_and_path(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fsspec.url_to_fs("s3://bucket/folder")`: the path is the URL without its protocol."""
    url = args.get(0, "url")
    path = UNKNOWN if url is None else derived(ranks.nonlinear(url.rank), Kind.STRING, url, device="")
    return items(created(FILE_SYSTEM), path)


def joined(left: Value, right: Value) -> Value | None:
    """`folder / name`, if one of them is a path: by nothing else can a text be divided, nor divide anything."""
    is_text_joined = Kind.STRING in (left.kind, right.kind) and Kind.UNKNOWN in (left.kind, right.kind)
    if not (is_text_joined or isinstance(left, PathValue) or isinstance(right, PathValue)):
        return None
    return path_of(ranks.combine(left.rank, right.rank), left, right)


def attribute(receiver: PathValue, name: str) -> Value:
    """`path.parent`, `path.stem`."""
    if name in RETURN_PATHS:
        return receiver
    return (
        derived(receiver.rank, Kind.STRING, receiver)
        if name in PARTS_OF_PATHS
        else Value(receiver.rank, provenance=receiver.provenance)
    )


def call(frame: Frame, receiver: PathValue, name: str, args: Arguments, node: cst.CSTNode) -> Value:
    """A method of a path."""
    if name in RETURN_PATHS:
        return path_of(ranks.combine(receiver.rank, args.rank()), receiver, *args.all())
    if name in PARTS_OF_PATHS:
        return derived(receiver.rank, Kind.STRING, receiver)
    if name in ASK_DISK:
        callee = callee_of(node)
        expression = callee.value if isinstance(callee, cst.Attribute) else None
        return _existence_of(frame, receiver, expression, node)
    if name in LIST_FOLDERS:
        return _listed(frame, receiver, node)
    result = frame.engine.unresolved(frame, args, node)
    return settings.SETTING if receiver.rank.is_uniform and _reads(name, args) else result


def _reads(name: str, args: Arguments) -> bool:
    """Whether a method gives what is in the file, which is the same for all ranks: `path.read_text()`."""
    mode = args.get(0, "mode")
    is_opened = mode is None or (isinstance(mode.const, str) and mode.const.startswith("r"))
    return name in READ_PATHS or (name == "open" and is_opened)


def _listed(frame: Frame, receiver: Value, node: cst.CSTNode) -> Value:
    text = "each rank lists the same folder here"
    provenance = (
        SharedName(frame.module, node, text)
        if receiver.rank.is_uniform
        else frame.step(node, "it depends on this rank's disk")
    )
    return IterableValue(
        ranks.IO_LOCAL, PathValue(ranks.IO_LOCAL, provenance=provenance), ranks.IO_LOCAL, provenance=provenance
    )


def on_disk(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`os.path.exists(path)`."""
    return _existence_of(frame, args.positional[0] if args.positional else UNKNOWN, args.expression(0), node)


def _existence_of(frame: Frame, path: Value, expression: cst.BaseExpression | None, node: cst.CSTNode) -> Value:
    """Whether a file exists: each rank checks for itself, at its own time."""
    if path.rank.is_reduced:
        return SAME
    agreed = any(point.kind == "broadcast" for point in frame.sync_points)
    outside = path.rank.is_uniform or _is_from_caller(frame, expression) or _is_new(frame, expression, node)
    if agreed or outside or not (path.rank.differs or _is_touched(frame, expression, node)):
        provenance = frame.step(node, "it depends on this rank's disk")
    else:
        provenance = RankLocalFile(
            frame.module, node, "ranks write this file themselves, so some may find it and others not"
        )
    return flag(rank=ranks.IO_LOCAL, provenance=provenance)


def _is_from_caller(frame: Frame, expression: cst.BaseExpression | None) -> bool:
    """Whether a path is a parameter or an attribute, or derived from these alone, such as `Path(folder)`."""
    parameters = {parameter.name for parameter in frame.function.parameters} if frame.function else set()
    if not isinstance(expression, cst.Name) or expression.value in parameters:
        return True
    assignments = (
        each for each in of_class(frame.root, cst.Assign) if expression.value in names_in(each.targets[0].target)
    )
    return any(_is_path_of(each.value, parameters) for each in assignments)


def _is_path_of(value: cst.BaseExpression, names: Collection[str]) -> bool:
    """Whether an expression only converts one of these names to a path."""
    match value:
        case cst.Call(func=cst.Name("Path"), args=[cst.Arg(value=cst.Name(name))]):
            return name in names
    return False


def _is_new(frame: Frame, expression: cst.BaseExpression | None, node: cst.CSTNode) -> bool:
    """Whether each iteration of a loop looks for another file: none that an earlier iteration has written."""
    if not isinstance(expression, cst.Name):
        return False
    loops = (each for each in ancestors(frame.root, node) if isinstance(each, cst.For))
    return any(_names_by(loop, expression.value) for loop in loops)


def _names_by(loop: cst.For, name: str) -> bool:
    """Whether a name is bound to a loop variable, or to a value derived from one in the loop body."""
    derived_names = names_in(loop.target)
    for each in of_class(loop.body, cst.Assign):
        if derived_names & names_in(each.value):
            derived_names = derived_names.union(*(names_in(target.target) for target in each.targets))
    return name in derived_names


def _is_touched(frame: Frame, expression: cst.BaseExpression | None, node: cst.CSTNode) -> bool:
    """Whether a rank may already be done with the file: its name is used before, or in the same loop or condition."""
    name = expression.value if isinstance(expression, cst.Name) else ""
    around = [
        each
        for each in ancestors(frame.root, node)
        if isinstance(each, (cst.For, cst.While)) or _is_in_test(each, node)
    ]
    if any(call is not node and _may_change(call, name) for each in around for call in of_class(each, cst.Call)):
        return True
    is_used = False
    for part in below(frame.root):
        if part is node:
            break
        if isinstance(part, cst.Assign) and any(name in names_in(each.target) for each in part.targets):
            is_used = False
        elif isinstance(part, cst.Call):
            is_used = is_used or _may_change(part, name)
    return is_used


def _is_in_test(branch: cst.CSTNode, node: cst.CSTNode) -> bool:
    return isinstance(branch, cst.If) and any(part is node for part in below(branch.test))


def _may_change(call: cst.Call, name: str) -> bool:
    """Whether a call may change the file: the path is its receiver or an argument, and it does not merely show it."""
    last = last_name(call.func)
    parts = call.args[1:] if last in COPIES else (call,)
    return any(name in names_in(each) for each in parts) and not SHOWS_PATH.fits(last)
