"""Parts of a model that give frozen features, to a trained part that is run after them.

For example, in a class whose `__init__` ends in

    for name, p in self.model.named_parameters():
        if "probe" not in name: p.requires_grad = False

and with a model whose class has a trained `self.probe`:

    x = self.model.module.embed(batch)        frozen, as `embed` uses nothing with "probe" in its name
    y = self.model.module.probe(x)            trained

Without the second line nothing shows that the word is the name of one part, and not of pieces of all parts, as in
`if "lora" not in name`.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.model_attributes import is_trained_part
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.gradient_switches import Path, paths_of
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import ancestors, of_class, precedes
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.devices import words_of_trained
from trl_lint.domain.kinds import ModelValue
from trl_lint.domain.values import Value
from trl_lint.knowledge.models import DATA, FORWARDS, INNER_MODEL, PARAMETERS

_FLAG = "requires_grad"


def are_called(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether a call of a part of a model, or of its method, gives features without gradients."""
    cls = class_of(model)
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if cls is not None:
            paths = paths_of(owner, {})
        case _:
            return False
    if len(paths) != 1:
        return False
    return any(
        _is_of_one_part(cls, word)
        and not any(word in each for each in _used_by(cls, name, set()))
        and _is_run_after(frame.root, node, paths[0], word)
        for word in _trained_words(frame, paths[0], node)
    )


def are_by_name(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether a part of a model is called, or its method, where only what is named otherwise is trained: that is known.

    Of a class out of sight, nobody knows what a method reads: `if "visual" not in name: p.requires_grad = False`, and
    then `model.module.encode_text(text)`.
    """
    words = words_of_trained(model.device)
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name))) if words is not None:
            whole = frame.known_value(owner)
        case _:
            return False
    if words is None or not isinstance(whole, ModelValue) or name == INNER_MODEL or name in FORWARDS:
        return False
    cls = class_of(whole)
    if cls is None:
        return not any(word in name for word in words)
    assigned = {each for base in cls.project_lineage() for each in base.assigned()}
    used = _used_by(cls, name, set())
    return bool(words) and all(
        any(word in each for each in assigned) and not any(word in each for each in used) for word in words
    )


def _is_of_one_part(cls: ClassInfo, word: str) -> bool:
    """Whether a class has a trained part with this word in its name, and the word is in no name of a parameter."""
    if any(word in each for each in (INNER_MODEL, *PARAMETERS)):
        return False
    names = {name for base in cls.project_lineage() for name in base.assigned() if word in name}
    return any(is_trained_part(cls, each) for each in names)


def _used_by(cls: ClassInfo, name: str, seen: set[str]) -> set[str]:
    """The attributes of the model that a method uses, also by other methods; the name itself if it is no method."""
    if name in seen or name in DATA:
        return set()
    seen.add(name)
    method = cls.find(name)
    if method is None or not method.parameters:
        return {name}
    this = method.parameters[0].name
    read = [each for each in of_class(method.node, cst.Attribute) if _is_name(each.value, this)]
    bare = [each for each in of_class(method.node, cst.Name) if each.value == this]
    # Its first parameter, and all the others that are the start of `self.part`.
    handed_on = {this} if len(bare) > len(read) + 1 else set()
    return {name}.union(handed_on, *(_used_by(cls, each.attr.value, seen) for each in read))


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_run_after(root: cst.CSTNode, call: cst.CSTNode, path: Path, word: str) -> bool:
    """Whether a function later runs a part of the same model that has the word in its name."""
    return any(
        isinstance(each.func, cst.Attribute)
        and word in each.func.attr.value
        and paths_of(each.func.value, {}) == (path,)
        and (precedes(root, call, each) or each in ancestors(root, call))
        for each in of_class(root, cst.Call)
    )


# --- what is frozen -------------------------------------------------------------------------------------


def _trained_words(frame: Frame, path: Path, node: cst.CSTNode) -> Iterator[str]:
    """The words in the names of the only parameters of a model that are not frozen."""
    around = frame.root if frame.cls is None else frame.cls.node
    for loop in _loops_before(frame, node):
        word = _word_of_trained(loop) if paths_of(loop.iter, {}) == (path,) else ""
        if word and not _trains_again(around, loop):
            yield word


def _loops_before(frame: Frame, node: cst.CSTNode) -> Iterator[cst.For]:
    """The loops that have certainly ended: in the function, and in the constructor of its class."""
    around = ancestors(frame.root, node)
    for loop in of_class(frame.root, cst.For):
        if precedes(frame.root, loop, node) and ancestors(frame.root, loop)[-1] in around and loop not in around:
            yield loop
    made = None if frame.cls is None else frame.cls.find("__init__")
    if made is not None and isinstance(made.node, cst.FunctionDef):
        yield from (each for each in made.node.body.body if isinstance(each, cst.For))


def _word_of_trained(loop: cst.For) -> str:
    """`for name, p in …: if "word" not in name: p.requires_grad = False`, or with a flag that is the test itself."""
    match loop:
        case cst.For(target=cst.Tuple([cst.Element(cst.Name(name)), cst.Element(cst.Name(parameter))])):
            statements = list(loop.body.body)
        case _:
            return ""
    match statements:
        case [cst.If(test=test, body=body, orelse=None)] if _freezes(body, parameter):
            return _tested(test, name, cst.NotIn)
        case [cst.If(test=test, body=body, orelse=cst.Else(body=other))] if _freezes(body, parameter):
            return "" if _freezes(other, parameter) else _tested(test, name, cst.NotIn)
        case [cst.If(test=test, orelse=cst.Else(body=other))] if _freezes(other, parameter):
            return _tested(test, name, cst.In)
        case [cst.If(test=test, body=body, orelse=None), *_] if of_class(body, cst.Continue):
            return _tested(test, name, cst.In) if _freezes(loop.body, parameter) else ""
        case [cst.SimpleStatementLine([cst.Assign(targets=[cst.AssignTarget(target)], value=test)])]:
            return _tested(test, name, cst.In) if _is_flag(target, parameter) else ""
    return ""


def _tested(test: cst.BaseExpression, name: str, operator: type[cst.BaseCompOp]) -> str:
    match test:
        case cst.Comparison(
            left=cst.SimpleString() as word, comparisons=[cst.ComparisonTarget(found, cst.Name(tested))]
        ) if tested == name and isinstance(found, operator):
            return str(word.evaluated_value)
    return ""


def _freezes(body: cst.BaseSuite, parameter: str) -> bool:
    lines = body.body if isinstance(body, cst.IndentedBlock) else (body,)
    smalls = (small for line in lines if isinstance(line, _SIMPLE) for small in line.body)
    return any(_is_freezing(each, parameter) for each in smalls)


_SIMPLE = (cst.SimpleStatementLine, cst.SimpleStatementSuite)


def _is_freezing(small: cst.BaseSmallStatement, parameter: str) -> bool:
    match small:
        case cst.Assign(targets=[cst.AssignTarget(target)], value=cst.Name("False")):
            return _is_flag(target, parameter)
        case cst.Expr(cst.Call(cst.Attribute(cst.Name(owner), cst.Name(method)), [cst.Arg(cst.Name("False"))])):
            return owner == parameter and method == f"{_FLAG}_"
    return False


def _is_flag(target: cst.BaseExpression, parameter: str) -> bool:
    return isinstance(target, cst.Attribute) and _is_name(target.value, parameter) and target.attr.value == _FLAG


def _trains_again(around: cst.CSTNode, loop: cst.For) -> bool:
    """Whether code changes what is trained anywhere but in this loop."""
    changed: list[cst.CSTNode] = [each.target for each in of_class(around, cst.AssignTarget)]
    changed.extend(each.func for each in of_class(around, cst.Call))
    switches = [each for each in changed if isinstance(each, cst.Attribute) and each.attr.value.rstrip("_") == _FLAG]
    inside = {id(each) for each in of_class(loop, cst.Attribute)}
    return any(id(each) not in inside for each in switches)
