"""Parts of a model that a constructor freezes for good: the model's own, or that of the object which has the model.

For example:

    def __init__(self):                                   in the class of the model
        self.table = nn.Embedding(9, 4)
        self.table.requires_grad_(False)                  `model.module.table` is frozen wherever it is read

    def __init__(self, net):                              in the class of a trainer
        self.net = net
        self.freeze()                                     `self.net.module.tower` is, in its methods
        self.net = DDP(self.net)

    def freeze(self):
        self.net.tower.requires_grad_(False)

Not if it is one of several ways, or if other code in these classes or their files trains it again.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.idioms.gradient_switches import Code, Path, Switch, may_switch, paths_of, switches
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import names_in, of_class
from trl_lint.analysis.state.callees import function_of
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value

_THIS, _INIT = "self", "__init__"
_FLAGS = frozenset({"requires_grad", "requires_grad_"})


def is_frozen(frame: Frame, model: Value, part: cst.CSTNode) -> bool:
    """Whether `owner.name`, a part of a model, is frozen, and stays so."""
    if not isinstance(part, cst.Attribute):
        return False
    cls, name = class_of(model), part.attr.value
    paths = paths_of(part, {})
    if cls is not None and cls.find(name) is None and _is_frozen_in(frame, cls, (_THIS, name)):
        trees = (frame.module.tree, cls.module.tree)
        return not _is_trained_again(trees, name) and not any(_is_trained_in(frame, frame.cls, each) for each in paths)
    if frame.cls is None or len(paths) != 1 or paths[0][0] != _THIS or not _is_frozen_in(frame, frame.cls, paths[0]):
        return False
    return not _is_trained_again((frame.module.tree,), name)


def _is_frozen_in(frame: Frame, cls: ClassInfo, path: Path) -> bool:
    """Whether the constructors of a class freeze what a path leads to, and no other method of it trains it again."""
    is_frozen = False
    for base in reversed(cls.project_lineage()):
        for switch in _switched_by(frame, cls, base.methods.get(_INIT)):
            if _leads_to(switch.path, path):
                is_frozen = not switch.on
            elif switch.on and _leads_to(path, switch.path):
                is_frozen = False
    return is_frozen and not _is_trained_in(frame, cls, path, besides=_INIT)


def _is_trained_in(frame: Frame, cls: ClassInfo | None, path: Path, besides: str = "") -> bool:
    """Whether a method of a class switches on the gradients of what a path leads to, or of a part of it."""
    bases = () if cls is None else cls.project_lineage()
    methods = (method for base in bases for name, method in base.methods.items() if name != besides)
    return cls is not None and any(
        switch.on and (_leads_to(switch.path, path) or _leads_to(path, switch.path))
        for method in methods
        for switch in _switched_by(frame, cls, method)
    )


def _leads_to(path: Path, other: Path) -> bool:
    """Whether a path leads to something that the other is, or is a part of."""
    return other[: len(path)] == path


def _switched_by(frame: Frame, cls: ClassInfo, method: FunctionInfo | None) -> Iterator[Switch]:
    if method is None or not isinstance(method.node, cst.FunctionDef) or not may_switch(method.module, method.node):
        return

    def find(function: FunctionInfo | None, callee: cst.BaseExpression) -> FunctionInfo | None:
        match callee:
            case cst.Attribute(value=cst.Name(value=owner), attr=cst.Name(value=name)):
                return cls.find(name) if owner == _THIS else None
        inside = method if function is None else function
        return function_of(Frame(frame.engine, inside.module), callee)

    found = switches(method.node.body.body, Code({}, _literal, find))
    yield from (each for each in found if each is not None and (each.on or each.but is None))


def _literal(test: cst.BaseExpression) -> bool | None:
    return {"True": True, "False": False}.get(test.value) if isinstance(test, cst.Name) else None


def _is_trained_again(trees: tuple[cst.Module, ...], name: str) -> bool:
    """Whether code switches on the gradients of something whose expression has the name of the part."""
    return any(
        name in names_in(owner) and _literal(value) is not False for tree in trees for owner, value in _set_in(tree)
    )


def _set_in(tree: cst.Module) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """The owners of flags that a file sets, by assigning or calling, and the value."""
    for call in of_class(tree, cst.Call):
        match call:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(name)), args=args) if name in _FLAGS:
                yield owner, args[0].value if args else cst.Name("True")
    for each in of_class(tree, cst.Assign):
        match each:
            case cst.Assign(targets=[cst.AssignTarget(cst.Attribute(value=owner, attr=cst.Name(name)))], value=value):
                if name in _FLAGS:
                    yield owner, value
