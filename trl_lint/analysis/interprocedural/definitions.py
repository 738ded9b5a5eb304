"""Definitions: functions and classes of the project, and the values that annotations describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from trl_lint.analysis.interpreter import expressions
from trl_lint.analysis.interpreter.calls.instantiation import instance_of
from trl_lint.analysis.interprocedural.modules import Names, dotted_name
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import is_literal_none
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.records import TUPLE
from trl_lint.analysis.transfer.data import data_sets
from trl_lint.domain import ranks
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import LibraryName, ModelValue, NumberValue, PathValue, StringValue, TensorValue
from trl_lint.domain.values import UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import library
from trl_lint.knowledge.python import RANK_DECORATORS


class Definitions(Names):
    """Creates one FunctionInfo or ClassInfo for each definition."""

    def __init__(self, project: Project, versions: Mapping[str, str] | None = None) -> None:
        super().__init__(project, versions)
        self._classes: dict[int, ClassInfo] = {}
        self._functions: dict[int, FunctionInfo] = {}
        self._on_some_ranks: dict[FunctionInfo, FunctionInfo] = {}

    def function(
        self, node: cst.FunctionDef | cst.Lambda, outer: Frame | None, module: Module | None = None
    ) -> FunctionInfo:
        known = self._functions.get(id(node))
        if known is None:
            home = module if outer is None or module is not None else outer.module
            assert home is not None  # if there is no frame around it, the module is given
            known = self._functions[id(node)] = FunctionInfo(node, home)
            if outer is None:
                home.functions.append(known)
        known.closure = outer
        return known

    def on_some_ranks(self, function: FunctionInfo) -> FunctionInfo:
        """A function with a decorator that lets only some ranks run it, which is applied by a call."""
        known = self._on_some_ranks.get(function)
        if known is None:
            known = self._on_some_ranks[function] = FunctionInfo(function.node, function.module, function.cls)
            known.decorators = function.decorators | RANK_DECORATORS
        known.closure, function.reached = function.closure, True
        return known

    def class_info(self, frame: Frame, node: cst.ClassDef) -> ClassInfo:
        known = self._classes.get(id(node))
        if known is not None:
            return known
        bases = [self._base(frame, arg) for arg in node.bases if arg.star == "" and not _is_object(arg.value)]
        custom = self.custom_name(frame.module.path, node.name.value, is_class=True) if self.custom else ""
        if custom:  # the configuration says more of it than its source
            bases.append(custom)
        cls = self._classes[id(node)] = ClassInfo(node, frame.module, bases)
        for statement in node.body.body:
            if isinstance(statement, cst.FunctionDef):
                method = FunctionInfo(statement, frame.module, cls)
                cls.methods.setdefault(method.name, method)
                cls.methods[method.name] = method if not method.decorators & {"setter"} else cls.methods[method.name]
            elif isinstance(statement, cst.SimpleStatementLine):
                self._class_statement(frame, cls, statement)
            elif isinstance(statement, cst.If):
                self._class_branch(frame, cls, statement)
        frame.module.classes.append(cls)
        return cls

    def tuple_class(self, frame: Frame, call: cst.CSTNode, name: str, fields: Sequence[str]) -> ClassInfo:
        """The class that a call of `namedtuple` makes, as if it was written as a NamedTuple."""
        known = self._classes.get(id(call))
        if known is None:
            lines = "".join(f"    {each}: object\n" for each in fields)
            node = cst.ensure_type(cst.parse_statement(f"class {name}(NamedTuple):\n{lines}"), cst.ClassDef)
            known = self._classes[id(call)] = ClassInfo(node, frame.module, [TUPLE])
            frame.module.classes.append(known)
        return known

    def _base(self, frame: Frame, arg: cst.Arg) -> ClassInfo | str | None:
        node = arg.value
        if isinstance(node, cst.Subscript):  # Generic[T]
            node = node.value
        value = self.settle(expressions.evaluate(frame, node), base=True)
        if isinstance(value, ClassValue):
            return value.cls
        if isinstance(value, LibraryName):
            return library.canonical(value.name)
        return None

    def _class_statement(self, frame: Frame, cls: ClassInfo, line: cst.SimpleStatementLine) -> None:
        for small in line.body:
            if (
                isinstance(small, cst.Assign)
                and len(small.targets) == 1
                and isinstance(small.targets[0].target, cst.Name)
            ):
                cls.variables[small.targets[0].target.value] = expressions.evaluate(frame, small.value)
            elif isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                cls.variables[small.target.value] = UNKNOWN
                cls.annotated[small.target.value] = small

    def _class_branch(self, frame: Frame, cls: ClassInfo, branch: cst.If | cst.Else, by_rank: bool = False) -> None:
        """Note the names that the branches of a condition assign in the body of a class: each is one of these.

        by_rank: whether the ranks take different branches.
        """
        if isinstance(branch, cst.If):
            by_rank = by_rank or expressions.evaluate(frame, branch.test).rank.differs
        for statement in branch.body.body:
            if isinstance(statement, cst.If):
                self._class_branch(frame, cls, statement, by_rank)
            for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
                match small:
                    case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=assigned):
                        value = UNKNOWN if by_rank else expressions.evaluate(frame, assigned)
                        before = cls.variables.get(name)
                        cls.variables[name] = value if before is None else join(before, value)
        if isinstance(branch, cst.If) and branch.orelse is not None:
            self._class_branch(frame, cls, branch.orelse, by_rank)

    def annotated(self, frame: Frame, annotation: cst.BaseExpression) -> Value | None:
        """The value that an annotation describes: an instance of a class whose objects the rules care about."""
        if isinstance(annotation, cst.SimpleString):
            try:
                annotation = cst.parse_expression(annotation.raw_value)
            except cst.ParserSyntaxError:
                return None
        if isinstance(annotation, cst.BinaryOperation):  # X | None
            options = [self.annotated(frame, annotation.left), self.annotated(frame, annotation.right)]
            found = [option for option in options if option is not None]
            if len(found) > 1 or not _is_none(annotation):
                return data_sets.annotated(found)
            return found[0] if found else None
        if isinstance(annotation, cst.Subscript):
            if dotted_name(annotation.value).endswith("Optional"):
                element = annotation.slice[0].slice
                return self.annotated(frame, element.value) if isinstance(element, cst.Index) else None
            if dotted_name(annotation.value).endswith("Union"):
                indices = [each.slice for each in annotation.slice]
                options = [self.annotated(frame, each.value) for each in indices if isinstance(each, cst.Index)]
                return data_sets.annotated(options)
            return None
        if not isinstance(annotation, (cst.Name, cst.Attribute)):
            return None
        return self._of_class(self.settle(expressions.evaluate(frame, annotation)))

    def _of_class(self, value: Value) -> Value | None:
        if isinstance(value, ClassValue):
            found = instance_of(value.cls)
            return found.replace(wrapping=Wrapping.UNKNOWN) if found.kind is Kind.MODEL else found
        if not isinstance(value, LibraryName):
            return None
        name = library.canonical(value.name)
        if name in _ANNOTATED_KINDS:
            return _ANNOTATED_KINDS[name]
        if name in ("torch.nn.Module", "transformers.PreTrainedModel") or library.is_model_class(name):
            return ModelValue(ranks.SAME, wrapping=Wrapping.UNKNOWN)
        instance = library.constructor(name, self.versions)
        if isinstance(instance, Value) and instance.kind is not Kind.LOADER:
            return instance
        return None


def _is_object(base: cst.BaseExpression) -> bool:
    """Whether a base is `object`."""
    return isinstance(base, cst.Name) and base.value == "object"


def _is_none(annotation: cst.BinaryOperation) -> bool:
    return any(map(is_literal_none, (annotation.left, annotation.right)))


# Not in torch_ops: classes in annotations, and the values that they describe.
_ANNOTATED_KINDS = {
    "torch.Tensor": TensorValue(ranks.UNKNOWN),
    "torch.FloatTensor": TensorValue(ranks.UNKNOWN, dtype="float"),
    "torch.LongTensor": TensorValue(ranks.UNKNOWN, dtype="int"),
    "builtins.int": NumberValue(ranks.UNKNOWN, scalar=True, dtype="int"),
    "builtins.float": NumberValue(ranks.UNKNOWN, scalar=True, dtype="float"),
    "builtins.str": StringValue(ranks.UNKNOWN),
    "pathlib.Path": PathValue(ranks.UNKNOWN),
}
