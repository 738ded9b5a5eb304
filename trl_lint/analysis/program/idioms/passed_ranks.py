"""What a file passes to the start of the process group as its rank: by that, it is the number of this process.

    number = int(sys.argv[1])
    log = open(f"times_{number}", "w")                             the number of this process, here already
    dist.init_process_group("nccl", rank=number, world_size=4)
    dist.init_process_group("nccl", rank=args.node)                an option, by any name
    dist.init_process_group("nccl", rank=int(os.environ["ME"]))    an environment variable
    start(number)                                                  the number, if `start` passes its parameter on
    from starts import start                                       also if it is a function of another file

Nothing follows from what is bound several times: only one of the values need be the rank.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.import_lines import files_with_names, import_lines
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.passed_arguments import argument_at
from trl_lint.analysis.program.syntax import (
    assigned_once,
    assignments,
    definitions_around,
    last_name,
    loop_targets,
    named_parameters,
    of_class,
    parts_of_target,
    positional_parameters,
)
from trl_lint.knowledge.process_starts import TAKE_RANK

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module, Project

_MENTIONS = rb"\b(?:%b)\b" % b"|".join(each.encode() for each in sorted(TAKE_RANK))
# The files of functions that take the rank from others.
_WANTED = re.compile(rb"\b(?:%b)\([^)]*\brank\s*=" % b"|".join(each.encode() for each in sorted(TAKE_RANK)))
_DEEPEST = 4


class PassedRanks(NamedTuple):
    """Where the rank comes from.

    names: each with the name of the function that binds it, "" for the module. attributes: each with the name of its
    owner. variables: those of the environment.
    """

    names: frozenset[tuple[str, str]] = frozenset()
    attributes: frozenset[tuple[str, str]] = frozenset()
    variables: frozenset[str] = frozenset()


_NOTHING = PassedRanks()


def passed_ranks(project: Project, module: Module) -> PassedRanks:
    """What a file passes as the rank of the process."""
    starts = _imported_starts(module, project)
    return _find(module, starts) if starts or module.mentions(_MENTIONS) else _NOTHING


@noted
def _find(module: Module, starts: frozenset[_Start]) -> PassedRanks:
    found = _all_sources(module.tree, starts)
    names = frozenset((each.owner, each.name) for each in found if each.kind == "name")
    attributes = frozenset((each.owner, each.name) for each in found if each.kind == "attribute")
    return PassedRanks(names, attributes, frozenset(each.name for each in found if each.kind == "variable"))


class _RankSource(NamedTuple):
    kind: str
    owner: str
    name: str


class _Start(NamedTuple):
    """A function that passes one of its parameters on as the rank. place: of an argument for it, if it has one."""

    name: str
    parameter: str
    place: int | None


@noted
def _imported_starts(module: Module, project: Project) -> frozenset[_Start]:
    """Those among the functions that a file imports from other files of the project, or that modules have there."""
    names = {each for _, imported in import_lines(module.code) for each in imported}
    files = sorted({*files_with_names(project, module.path)} - {module.path}) if names else []
    asked = (path for path in files if _WANTED.search(project.text(path)))
    others = [other for path in asked if (other := project.module(path)) is not None]
    return frozenset(each for other in others for each in _starts_in(other) if module.mentions(_call_of(each)))


@noted
def _starts_in(module: Module) -> frozenset[_Start]:
    """The functions of a file that are such."""
    found = {(each.owner, each.name) for each in _all_sources(module.tree, frozenset()) if each.kind == "name"}
    functions = [each for each in module.tree.body if isinstance(each, cst.FunctionDef)]
    return frozenset(
        _Start(each.name.value, parameter, _place_of(each, parameter))
        for each in functions
        for parameter in named_parameters(each.params)
        if (each.name.value, parameter) in found
    )


def _call_of(start: _Start) -> bytes:
    return rb"\b%b\(" % start.name.encode()


def _all_sources(tree: cst.Module, starts: frozenset[_Start]) -> set[_RankSource]:
    """What holds the rank in a file. starts: the functions of other files that take it."""
    passed = chain(_passed(tree), _passed_on(tree, starts))
    return {part for root, rank in passed for part in _sources(tree, root, rank, _DEEPEST)}


def _passed_on(
    tree: cst.Module, starts: frozenset[_Start]
) -> Iterator[tuple[cst.Module | cst.FunctionDef, cst.BaseExpression]]:
    """The ranks passed to functions of other files, by their own names: `start(rank)`, `starts.start(rank)`."""
    own = {each.name.value for each in of_class(tree, cst.FunctionDef)}
    by_name = {each.name: each for each in starts if each.name not in own}
    aliases = [*of_class(tree, cst.ImportAlias)] if by_name else []
    modules = {each.evaluated_alias or each.evaluated_name for each in aliases}
    for call in of_class(tree, cst.Call) if by_name else ():
        owner = call.func.value if isinstance(call.func, cst.Attribute) else None
        is_of_module = isinstance(owner, cst.Name) and owner.value in modules
        start = by_name.get(last_name(call.func)) if is_of_module or isinstance(call.func, cst.Name) else None
        rank = None if start is None else argument_at(call, start.place, start.parameter)
        if rank is not None:
            yield _around(tree, call), rank


def _passed(tree: cst.Module) -> Iterator[tuple[cst.Module | cst.FunctionDef, cst.BaseExpression]]:
    """The ranks passed, each with the function around the call, or the module."""
    for call in of_class(tree, cst.Call):
        if last_name(call.func) in TAKE_RANK:
            for arg in call.args:
                if arg.keyword is not None and arg.keyword.value == "rank":
                    yield _around(tree, call), arg.value


def _given(
    tree: cst.Module, function: cst.Module | cst.FunctionDef, parameter: str
) -> Iterator[tuple[cst.Module | cst.FunctionDef, cst.BaseExpression]]:
    """What calls in the file give a function of the module for a parameter, each with the function around the call."""
    if not isinstance(function, cst.FunctionDef) or function not in tree.body:
        return
    place = _place_of(function, parameter)
    for call in of_class(tree, cst.Call):
        if isinstance(call.func, cst.Name) and call.func.value == function.name.value:
            value = argument_at(call, place, parameter)
            if value is not None:
                yield _around(tree, call), value


def _place_of(function: cst.FunctionDef, parameter: str) -> int | None:
    names = positional_parameters(function.params)
    return names.index(parameter) if parameter in names else None


def _around(tree: cst.Module, call: cst.Call) -> cst.Module | cst.FunctionDef:
    around = [each for each in definitions_around(tree, call) if isinstance(each, cst.FunctionDef)]
    return around[-1] if around else tree


def _sources(
    tree: cst.Module, root: cst.Module | cst.FunctionDef, rank: cst.BaseExpression, depth: int
) -> Iterator[_RankSource]:
    """What holds the same number as an expression of a function (or module)."""
    match rank:
        case cst.Call(func=cst.Name(value="int" | "str"), args=[cst.Arg(value=inner, star="")]):
            yield from _sources(tree, root, inner, depth)
        case cst.Name(value=name):
            if isinstance(root, cst.FunctionDef) and not _times_bound(root, name):
                root = tree
            owner = root.name.value if isinstance(root, cst.FunctionDef) else ""
            value = assigned_once(root, name)
            is_parameter = isinstance(root, cst.FunctionDef) and name in named_parameters(root.params)
            if _times_bound(root, name) == 1 and (value is not None or is_parameter):
                yield _RankSource("name", owner, name)
                if depth > 0:
                    given = [(root, value)] if value is not None else _given(tree, root, name)
                    yield from chain.from_iterable(_sources(tree, at, each, depth - 1) for at, each in given)
        case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)):
            if not any(last_name(each) == name for each in _targets(tree) if isinstance(each, cst.Attribute)):
                yield _RankSource("attribute", owner, name)
        case cst.Subscript(value=read, slice=[cst.SubscriptElement(slice=cst.Index(value=cst.SimpleString() as key))]):
            if last_name(read) == "environ":
                yield _RankSource("variable", "", key.raw_value)
        case cst.Call(func=func, args=[cst.Arg(value=cst.SimpleString() as key), *_]):
            if last_name(func) == "getenv" or (isinstance(func, cst.Attribute) and last_name(func.value) == "environ"):
                yield _RankSource("variable", "", key.raw_value)


def _times_bound(root: cst.Module | cst.FunctionDef, name: str) -> int:
    """How often code binds a name, as far as known."""
    bound = [each.value for each in _targets(root) if isinstance(each, cst.Name)]
    bound += loop_targets(root)
    bound += named_parameters(root.params) if isinstance(root, cst.FunctionDef) else []
    return bound.count(name)


def _targets(root: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """What assignments bind, each part of a tuple for itself."""
    yield from chain.from_iterable(parts_of_target(target) for target, _ in assignments(root))
    yield from (each.target for each in of_class(root, cst.AnnAssign))
    yield from (each.target for each in of_class(root, cst.AugAssign))
    yield from (each.target for each in of_class(root, cst.NamedExpr))


def is_set_by_file(module: Module, variable: str) -> bool:
    """Whether a file sets an environment variable, in whatever form: for one process, or for those that it starts."""
    return module.mentions(rb"environ(?:\[|\.setdefault\(\s*)[\"']%b[\"'](?:\]\s*=[^=]|\s*,)" % variable.encode())
