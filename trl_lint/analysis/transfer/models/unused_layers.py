"""The layers of a model, and of the project's modules in it, that no step uses: their parameters get no gradient.

For example:

    class Block(nn.Module):                    with `self.norm = nn.LayerNorm(8)`, which no code reads
    class Net(nn.Module):
        def __init__(self):
            self.blocks = nn.ModuleList([Block() for _ in range(4)])

    Net()                                      `norm` of `Block` is unused

Nor does a step use what only methods read that nothing calls, or what only runs without gradients.
Not if code of a program with the model may read such an attribute of anything, may freeze parameters, or makes all of
them a part of the loss.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.definitions.frozen_otherwise import freezes_others_only
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.definitions.unread_layers import (
    MadePart,
    is_never_called_by_itself,
    is_plain_module,
    made_parts,
    method_around,
    unread_parts,
)
from trl_lint.analysis.program.definitions.unread_poolers import is_pooler_unread
from trl_lint.analysis.program.definitions.whole_penalties import computes_with_all_parameters
from trl_lint.analysis.program.project.import_lines import codes_of_programs
from trl_lint.analysis.program.syntax import keyword_value, of_class
from trl_lint.analysis.state.callees import library_function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.knowledge import trained_layers as table
from trl_lint.knowledge.models import RETURN_THE_MODEL
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS

if TYPE_CHECKING:
    from pathlib import Path

    from trl_lint.analysis.program.project.classes import ClassInfo

# How deep modules are followed into each other, and how many classes of them.
_MOST_DEPTH = 8
_MOST_CLASSES = 80
_SILENT = [re.compile(each) for each in (table.READS_ANY_PART, table.REPLACES_METHODS, table.RUNS_ALL_PARTS)]
_POOLER, _IMPORTS_ANY = re.compile(table.POOLER), re.compile(table.IMPORTS_ANY)
_CALLS_ANY = re.compile(table.CALLS_ANY_METHOD)
_TRAINS, _OPTIMISES, _IS_PROGRAM = (re.compile(each) for each in (table.TRAINS, table.OPTIMISES, table.IS_PROGRAM))
_CLASS = re.compile(rb"\bclass[ \t]+(\w+)[ \t]*\(([^)]*)\)")
_TOP = re.compile(rb"^(class|def|async def)[ \t]+(\w+)", re.MULTILINE)
_METHOD = re.compile(rb"^[ \t]+(?:async )?def[ \t]+(\w+)", re.MULTILINE)
_WORD = re.compile(rb"\w+")
_BEGINS_NAME = re.compile(rb"""["']([A-Za-z0-9_]+)["']\s*\+""")
_ASKS_BY_TEXT = re.compile(table.ASKS_BY_TEXT)
_COMPOSED = re.compile(rb"""["']([A-Za-z0-9_]*)(?:\{[^{}"'\n]*\}|%[ds])([A-Za-z0-9_]*)["']""")


class UnusedLayer(NamedTuple):
    """A part of the objects of a class that nothing uses, or (is_pooler) whose pooler nothing uses.

    readers: methods that use it, and that nothing calls. runs: whether it runs without gradients.
    """

    cls: ClassInfo
    part: MadePart
    is_pooler: bool = False
    readers: frozenset[str] = frozenset()
    runs: bool = False


def unused_layers(frame: Frame, cls: ClassInfo) -> list[UnusedLayer]:
    """The layers with trained parameters that an object of a class always has, and that nothing uses."""
    unread = [each for inner in _classes_in(frame, cls) for each in _unread_layers(frame, inner)]
    if not unread:
        return []
    codes = codes_of_programs(frame.engine.project, frame.module.path)
    if codes is None or not _trains(codes, frame.module.path):
        return []
    if any(map(computes_with_all_parameters, codes.values())):
        return []
    if any(each.search(code) for each in _SILENT for code in codes.values()):
        return []
    if _IMPORTS_ANY.search(codes.get(frame.module.path, b"")):
        return []  # code that is not known gets the model
    return [each for each in unread if not _may_be_right(each, cls, codes)]


def _may_be_right(layer: UnusedLayer, model: ClassInfo, codes: Mapping[Path, bytes]) -> bool:
    """Whether programs may use a layer of a model, or freeze it."""
    if layer.is_pooler and any(_POOLER.search(each) for each in codes.values()):
        return True
    own = {each.encode() for base in model.project_lineage() for each in base.assigned()} - {layer.part.name.encode()}
    others = own if layer.cls is model.origin else frozenset()
    classes = {each[1] for code in codes.values() for each in _CLASS.finditer(code)}
    if not all(freezes_others_only(each, others, classes) for each in codes.values()):
        return True
    if layer.readers and any(_CALLS_ANY.search(each) for each in codes.values()):
        return True
    if any(_may_be_called(each, layer.cls, codes) for each in layer.readers):
        return True
    return _is_read_elsewhere(layer.cls, layer.part, codes)


def _trains(codes: Mapping[Path, bytes], path: Path) -> bool:
    """Whether programs train, and a file, if it is one itself: what only evaluates may import code that trains."""
    if _IS_PROGRAM.search(codes.get(path, b"")) and not _OPTIMISES.search(codes.get(path, b"")):
        return False
    return any(_TRAINS.search(each) for each in codes.values())


def _classes_in(frame: Frame, cls: ClassInfo) -> Sequence[ClassInfo]:
    """A class, and those of the modules that its constructor always makes, and so on."""
    found = [cls.origin]
    level = [*found]
    for _ in range(_MOST_DEPTH):
        level = [inner for each in level for part in made_parts(each) for inner in _classes_of(frame, part)]
        level = [each for each in dict.fromkeys(level) if each not in found]
        found += level
        if not level or len(found) > _MOST_CLASSES:
            break
    return found[:_MOST_CLASSES]


def _unread_layers(frame: Frame, cls: ClassInfo) -> Iterator[UnusedLayer]:
    forward, is_said = cls.find("forward"), False
    runs_none = forward is not None and not WITHOUT_GRADIENTS.isdisjoint(forward.decorators)
    for part, readers, runs in unread_parts(cls):
        inside = Frame(frame.engine, part.constructor.module)
        if all(_is_trained(inside, each) for each in part.values) and not (runs_none and is_said):
            is_said = runs  # one layer stands for all of a module that runs without gradients
            yield UnusedLayer(cls, part, readers=readers, runs=runs)
    for part in made_parts(cls):
        has_pooler = not part.others and _has_pooler(Frame(frame.engine, part.constructor.module), part.value)
        if has_pooler and is_pooler_unread(cls, part):
            yield UnusedLayer(cls, part, is_pooler=True)


def _has_pooler(frame: Frame, value: cst.BaseExpression) -> bool:
    """Whether an expression makes an encoder of transformers with a pooler."""
    makers = list(_makers(frame, value)) if isinstance(value, cst.Call) else []
    call = makers[0] if len(makers) == 1 else None
    if call is None or any(each.star for each in call.args) or keyword_value(call, table.POOLER_OPTION) is not None:
        return False
    name = library_function_of(frame, call.func)
    owner, _, method = name.rpartition(".")
    if name in table.HAVE_POOLER:
        return len(call.args) == 1  # the second one is the option
    if method != table.LOADS or owner not in (*table.HAVE_POOLER, table.LOADS_ANY):
        return False
    return owner != table.LOADS_ANY or _names_weights_with_pooler(call)


def _names_weights_with_pooler(call: cst.Call) -> bool:
    match call.args:
        case [cst.Arg(value=cst.SimpleString() as name), *_]:
            return table.WEIGHTS_WITH_POOLER.fullmatch(str(name.evaluated_value)) is not None
    return False


def _classes_of(frame: Frame, part: MadePart) -> Iterator[ClassInfo]:
    """The project's classes of the modules that a constructor always makes for a part."""
    inside = Frame(frame.engine, part.constructor.module)
    first, *others = ([*_classes_made(inside, each)] for each in part.values)
    yield from (each for each in first if all(each in other for other in others))


def _classes_made(frame: Frame, value: cst.BaseExpression) -> Iterator[ClassInfo]:
    for call in _makers(frame, value) if isinstance(value, cst.Call) else ():
        known = _class_called(frame, call)
        if known is not None:
            yield known


def _makers(frame: Frame, value: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls that make a module, or those that it consists of: `a` and `b` of `nn.Sequential(a(), b())`."""
    match value:
        case cst.Call(func=cst.Attribute(value=cst.Call() as made, attr=cst.Name(name))) if name in RETURN_THE_MODEL:
            yield from _makers(frame, made)
        case cst.Call(func=func) if library_function_of(frame, func) not in table.HOLD_MODULES:
            yield value
        case cst.ListComp(elt=elt, for_in=cst.CompFor(iter=cst.Call(cst.Name("range")), ifs=[], inner_for_in=None)):
            yield from _makers(frame, elt)
        case _:
            for each in _held(value):
                yield from _makers(frame, each)


_LISTED = (cst.List, cst.ListComp)


def _held(holder: cst.BaseExpression) -> Sequence[cst.BaseExpression]:
    """What a call, a list or a dict holds, if all of it is listed."""
    match holder:
        case cst.Call(args=parts) if all(each.star != "*" or isinstance(each.value, _LISTED) for each in parts):
            return [each.value for each in parts]
        case cst.List(elements=parts) | cst.Tuple(elements=parts) | cst.Dict(elements=parts):
            return [each.value for each in parts]
    return ()


def _class_called(frame: Frame, call: cst.Call) -> ClassInfo | None:
    if not isinstance(call.func, (cst.Name, cst.Attribute)):
        return None
    value = frame.engine.evaluate(frame, call.func)
    return value.cls.origin if isinstance(value, ClassValue) else None


def _is_trained(frame: Frame, value: cst.BaseExpression, depth: int = 0) -> bool:
    """Whether what an expression makes certainly has parameters that are trained. In a plain list, a model has none."""
    return isinstance(value, cst.Call) and any(_has_parameters(frame, each, depth) for each in _makers(frame, value))


def _has_parameters(frame: Frame, call: cst.Call, depth: int) -> bool:
    name = library_function_of(frame, call.func)
    if any(each.star for each in call.args) or keyword_value(call, table.FROZEN_BY) is not None:
        return False
    if name in table.PARAMETER:
        return len(call.args) == 1 and call.args[0].keyword is None
    if name in table.ALWAYS_TRAINED:
        return True
    if name in table.TRAINED_IF_AFFINE:
        place = table.PLACE_OF_ELEMENTWISE if name in table.ELEMENTWISE else table.PLACE_OF_AFFINE
        return not any(each.keyword is not None and each.keyword.value in table.AFFINE for each in call.args) and (
            sum(each.keyword is None for each in call.args) <= place
        )
    cls = _class_called(frame, call) if not name else None
    if cls is not None and not table.ALWAYS_TRAINED.isdisjoint(cls.library_bases()):
        return True
    if cls is None or depth == _MOST_DEPTH or not is_plain_module(cls):
        return False
    return any(
        all(_is_trained(Frame(frame.engine, part.constructor.module), each, depth + 1) for each in part.values)
        for part in made_parts(cls)
    )


# --- other code -----------------------------------------------------------------------------------------


def _is_read_elsewhere(cls: ClassInfo, part: MadePart, codes: Mapping[Path, bytes]) -> bool:
    """Whether other code than that of a class may use its part: of any object, or by the name as a text."""
    name = part.name.encode()
    as_text = rb"[\"'](?:[^\"'\s]*[.}])?%b(?:[.{][^\"'\s]*)?[\"']" % name
    reads = re.compile(rb"(?:(?<![\w.])(\w+)|[\w\])])\s*\.\s*%b\b|%b" % (name, as_text))
    if any(_may_be_composed(part.name, code) for code in codes.values()):
        return True
    known = {each.name.encode() for each in cls.project_lineage()}
    heirs = _heirs(cls.name.encode(), codes.values()) - known
    lends = _Lending(heirs, known, codes.values())
    for code in codes.values():
        for found in reads.finditer(code) if name in code else ():
            owner = found[1] or b""
            if owner == b"self" and _is_of_other_class(code, found.start(), lends):
                continue
            if owner not in table.NO_MODELS_THESE:
                return True
    return False


def _may_be_called(name: str, cls: ClassInfo, codes: Mapping[Path, bytes], asked: frozenset[str] = frozenset()) -> bool:
    """Whether code of programs names a method of a class outside of those methods of it that nothing calls."""
    asked |= {name}
    if any(_may_be_composed(name, each) for each in codes.values()):
        return True
    named = sum(len(re.findall(rb"(?<!\bdef )\b%b\b" % name.encode(), code)) for code in codes.values())
    for base in cls.project_lineage():
        for each in of_class(base.node, cst.Name):
            method = method_around(base.node, each) if each.value == name else None
            if method is None or each is method.name or not is_never_called_by_itself(cls, method):
                continue
            caller = method.name.value
            named -= caller in asked or not _may_be_called(caller, cls, codes, asked)
    return named > 0


def _may_be_composed(name: str, code: bytes) -> bool:
    """Whether code that asks for attributes by texts may compose a name: `f"head_{number}"`, `"head_" + number`."""
    if not _ASKS_BY_TEXT.search(code):
        return False
    composed = [(each[1].decode(), each[2].decode()) for each in _COMPOSED.finditer(code)]
    composed += [(each[1].decode(), "") for each in _BEGINS_NAME.finditer(code)]
    return any(len(start + end) > 2 and name.startswith(start) and name.endswith(end) for start, end in composed)


def _heirs(name: bytes, codes: Iterable[bytes]) -> set[bytes]:
    """The names of a class and of those that inherit from one of such a name."""
    bases = {each[1]: set(_WORD.findall(each[2])) for code in codes for each in _CLASS.finditer(code)}
    heirs = {name}
    while found := {each for each, above in bases.items() if each not in heirs and not heirs.isdisjoint(above)}:
        heirs |= found
    return heirs


class _Lending(NamedTuple):
    """Whose methods may use a part of a class: those of its heirs, and any that code calls for another object.

    known: the class and its bases, whose code is judged by its tree.
    """

    heirs: Collection[bytes]
    known: Collection[bytes]
    codes: Collection[bytes]


def _is_of_other_class(code: bytes, place: int, lends: _Lending) -> bool:
    """Whether a place is in a class at the top of a file whose methods are no others'."""
    kind, name, start = b"", b"", 0
    for each in _TOP.finditer(code, 0, place):
        kind, name, start = each[1], each[2], each.start()
    if kind != b"class" or name in lends.heirs:
        return False
    method = next(reversed(_METHOD.findall(code, start, place)), b"")
    lent = re.compile(rb"\b%b\.%b\b" % (name, method))  # `Other.forward(self, x)`, `forward = Other.forward`
    return name in lends.known or not any(lent.search(each) for each in lends.codes)
