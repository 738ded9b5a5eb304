"""Neutral steps: the same broken code, written in another way. None of them changes what the code does."""

from __future__ import annotations

import ast
import builtins
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst

from evaluation.source import Edit, Source, descendants

# The new file has a unique name, so that a linter that caches files is not misled.
ALIAS, LOCAL, HELPER, MODULE = "alias_", "value_", "helper_", "moved_helper_"


BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.NamedExpr)


class NotPossible(Exception):
    """The step is not possible at this place; the text says why."""


@dataclass(frozen=True)
class Place:
    """The place to break: `target` becomes `template` with `subject` in it; steps may move all of `whole`."""

    target: cst.CSTNode
    template: str
    subject: str
    whole: cst.CSTNode

    @property
    def broken(self) -> str:
        return self.template.replace("{}", self.subject)


@dataclass
class Rewrite:
    """The edits of one mutant, the new file it may need, and the lines that hold the moved code."""

    edits: list[Edit]
    new_files: dict[Path, str] = field(default_factory=dict)


def plain(source: Source, place: Place) -> Rewrite:
    """The broken code at its place."""
    return Rewrite([Edit(*source.span(place.target), place.broken)])


def alias(source: Source, place: Place) -> Rewrite:
    """The receiver or value is bound to another name first."""
    broken = place.template.replace("{}", ALIAS)
    return Rewrite([_before(source, place, f"{ALIAS} = {place.subject}"), Edit(*source.span(place.target), broken)])


def extra_local(source: Source, place: Place) -> Rewrite:
    """The expression is bound to a local, which is then used."""
    bound = _before(source, place, f"{LOCAL} = ({_broken_whole(source, place)})")
    return Rewrite([bound, Edit(*source.span(place.whole), LOCAL)])


def extracted_helper(source: Source, place: Place) -> Rewrite:
    """The expression moves to a function of the same module, which takes its free names."""
    code = _broken_whole(source, place)
    names = _parameters(source, place, code)
    definition = f"def {HELPER}({', '.join(names)}):\n    return ({code})\n\n\n"
    return Rewrite([_above(source, place, definition), _call(source, place, names)])


def moved_helper(source: Source, place: Place) -> Rewrite:
    """The expression moves to a function of another file, which is imported."""
    code = _broken_whole(source, place)
    names = _parameters(source, place, code)
    imports = "".join(_import_of(source, name) + "\n" for name in _others(code, names))
    text = f"{imports}\n\ndef {HELPER}({', '.join(names)}):\n    return ({code})\n"
    module = f"{MODULE}{zlib.crc32(text.encode()):08x}"
    packaged = (source.path.parent / "__init__.py").is_file()
    statement = f"from {'.' if packaged else ''}{module} import {HELPER}\n\n\n"
    edits = [_above(source, place, statement), _call(source, place, names)]
    return Rewrite(edits, {source.path.with_name(f"{module}.py"): text})


STEPS: dict[str, Callable[[Source, Place], Rewrite]] = {
    "none": plain,
    "alias": alias,
    "extra local": extra_local,
    "helper": extracted_helper,
    "other file": moved_helper,
}


def _broken_whole(source: Source, place: Place) -> str:
    start, end = source.span(place.whole)
    first, last = source.span(place.target)
    return source.text[start:first] + place.broken + source.text[last:end]


def _call(source: Source, place: Place, names: list[str]) -> Edit:
    return Edit(*source.span(place.whole), f"{HELPER}({', '.join(names)})")


def _before(source: Source, place: Place, code: str) -> Edit:
    """An edit that inserts a statement before the one that holds the place."""
    statement = source.statement(place.whole)
    for node in source.ancestors(place.whole):
        if node is statement:
            break
        if isinstance(node, (cst.CompFor, cst.BaseComp, cst.Lambda, cst.IfExp, cst.BooleanOperation)):
            raise NotPossible("the expression is not always evaluated, or more than once")
        if isinstance(node, (cst.If, cst.While, cst.SimpleStatementSuite)):
            raise NotPossible("no statement can stand before the expression")
    if isinstance(statement, cst.While):
        raise NotPossible("the condition of a loop")
    start = source.line_start(statement)
    indent = re.match(r"\s*", source.text[start:]).group()
    return Edit(start, start, f"{indent}{code}\n")


def _above(source: Source, place: Place, code: str) -> Edit:
    """An edit that inserts code before the statement of the module that holds the place."""
    top = source.top_level(place.whole)
    lines = [top, *getattr(top, "decorators", ())]
    start = min(source.line_start(node) for node in lines)
    return Edit(start, start, code)


def _names(code: str) -> list[str]:
    """The names that an expression reads and does not bind itself, in order."""
    tree = ast.parse(f"({code})", mode="eval")
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    own |= {argument.arg for node in ast.walk(tree) if isinstance(node, ast.arguments) for argument in node.args}
    if any(isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)) for node in ast.walk(tree)):
        raise NotPossible("the expression can't leave its function")
    return list(dict.fromkeys(node.id for node in nodes if node.id not in own))


def _parameters(source: Source, place: Place, code: str) -> list[str]:
    """The names of the expression that belong to the functions around it."""
    scopes = [node for node in source.ancestors(place.whole) if isinstance(node, cst.FunctionDef)]
    local = set().union(*(_locals(scope) for scope in scopes or [source.module]))
    if not scopes:
        local -= {name for statement in _imports(source) for name in _imported_names(statement)}
    names = [name for name in _names(code) if name in local]
    if "super" in _names(code):
        raise NotPossible("super() needs its class")
    return names


def _locals(scope: cst.CSTNode) -> set[str]:
    """The names that a function binds: parameters, assignments, loops, imports, nested functions."""
    found = set()
    for node in descendants(scope):
        if isinstance(node, cst.Param):
            found.add(node.name.value)
        elif isinstance(node, BINDERS):
            found |= {name.value for name in _bound_names(node.target)}
        elif isinstance(node, cst.AsName):
            found |= {name.value for name in _bound_names(node.name)}
        elif isinstance(node, cst.FunctionDef) and isinstance(scope, cst.FunctionDef):
            found.add(node.name.value)
    return found


def _bound_names(target: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(target, cst.Name):
        yield target
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _bound_names(element.value)


def _others(code: str, parameters: list[str]) -> list[str]:
    known = {*parameters, *vars(builtins)}
    return [name for name in _names(code) if name not in known]


def _imports(source: Source) -> list[cst.CSTNode]:
    return [node for node in source.all(cst.Import, cst.ImportFrom) if source.enclosing(node, cst.FunctionDef) is None]


def _imported_names(statement: cst.CSTNode) -> Iterator[str]:
    if isinstance(statement.names, cst.ImportStar):
        return
    for imported in statement.names:
        yield imported.evaluated_alias or imported.evaluated_name.split(".")[0]


def _import_of(source: Source, name: str) -> str:
    """An import of a name, as it is in the file."""
    for statement in _imports(source):
        if name in _imported_names(statement):
            return source.code(statement)
    raise NotPossible(f"{name} is defined in the file")
