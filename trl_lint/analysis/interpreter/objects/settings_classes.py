"""Settings that a trainer always has, by the class of the project that its code names for them.

For example:

    @dataclass
    class OwnConfig(GRPOConfig):
        def __post_init__(self):
            super().__post_init__()
            self.dataloader_drop_last = True                 whatever the command line says

    class Own(GRPOTrainer):
        def __init__(self, model, args: OwnConfig, **others): …
        args: OwnConfig                                      the same
        def __init__(self, **kwargs):
            args: OwnConfig = kwargs["args"]
            self.args = args                                 the same
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import attribute_values, names_in, of_class, self_attribute
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import Value
from trl_lint.knowledge.transformers import SETTINGS

# What runs when an object of a class is made.
_RUN = (CONSTRUCTOR, "__post_init__")


def is_always_set(frame: Frame, name: str) -> bool:
    """Whether the settings of the trainer whose method runs here have set a flag, however they are made."""
    cls = frame.cls
    if cls is None:
        return False
    value = frame.read_attribute(cls, SETTINGS)
    if not isinstance(value, ProjectInstance):
        value = _as_annotated(frame, cls)
    return isinstance(value, ProjectInstance) and name in _always_true(value.cls)


def _as_annotated(frame: Frame, cls: ClassInfo) -> Value | None:
    """What a class says that its settings are, in its body or in its constructor, which may import their class."""
    declared = frame.engine.class_variable(cls, SETTINGS)
    init = None if declared is not None else cls.find(CONSTRUCTOR)
    annotation = None if init is None else _annotation(init)
    if init is None or annotation is None:
        return declared
    inside = Frame(frame.engine, init.module)
    names = names_in(annotation)
    for line in of_class(init.node, cst.ImportFrom):
        aliases = () if isinstance(line.names, cst.ImportStar) else line.names
        if any((each.evaluated_alias or each.evaluated_name) in names for each in aliases):
            frame.engine.run_import_from(inside, line)
    return frame.engine.annotated(inside, annotation)


def _annotation(init: FunctionInfo) -> cst.BaseExpression | None:
    """The annotation of the parameter of a constructor that gets the settings, or of what it binds to that name."""
    parameters = (each for each in init.parameters if each.name == SETTINGS and not each.star)
    annotations = [each.annotation for each in parameters if each.annotation is not None]
    annotations += [
        each.annotation.annotation
        for each in of_class(init.node, cst.AnnAssign)
        if each.value is not None and SETTINGS in (getattr(each.target, "value", ""), self_attribute(each.target))
    ]
    return annotations[0] if annotations else None


@noted_in_file
def _always_true(cls: ClassInfo) -> frozenset[str]:
    """The attributes that are set to True whenever an object of a class is made, and to nothing else in its methods."""
    methods = [method for name in _RUN if (method := cls.find(name)) is not None]
    always = {name for method in methods for name, value in _unconditional(method.node) if _is_true(value)}
    others = (attribute_values(method.node) for method in cls.project_methods())
    return frozenset(always - {name for each in others for name, value in each if not _is_true(value)})


def _unconditional(method: cst.FunctionDef | cst.Lambda) -> list[tuple[str, cst.BaseExpression]]:
    body = method.body.body if isinstance(method.body, cst.IndentedBlock) else ()
    lines = (each for each in body if isinstance(each, cst.SimpleStatementLine))
    return [found for line in lines for found in attribute_values(line)]


def _is_true(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Name) and value.value == "True"
