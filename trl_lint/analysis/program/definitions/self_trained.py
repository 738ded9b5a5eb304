"""Modules that train themselves: an `nn.Module` as a trainer, which holds its networks and their optimizer.

    class Trainer(nn.Module):
        def __init__(self, options):
            super().__init__()
            self.net = DistributedDataParallel(Net())     it wraps a part of itself,
        def update(self, batch):
            self.net(batch).mean().backward()             or runs the backward pass
            self.optimizer.step()                         and the step of its own optimizer

    class Sampler(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.accelerator = Accelerator()              or starts the processes that it runs on

    trainer = Trainer(options)                            an object with methods and attributes, not a network
    trainer.update(batch)

All other modules are networks, which other code trains and a wrapper may enclose.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance, ProjectModel
from trl_lint.analysis.program.project.classes import ClassInfo, is_module_class
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import is_super, last_name, of_class, self_attribute
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge.accelerate import ACCELERATOR
from trl_lint.knowledge.models import WITHOUT_FORWARD, WRAPPER_CLASSES

_BACKWARD, _STEP = "backward", "step"
_WRAPS_OR_STARTS = WRAPPER_CLASSES | {ACCELERATOR}


def as_wrappable(value: Value) -> Value:
    """The value that a wrapper encloses: an object of a module class is a model there, even one that trains itself."""
    if isinstance(value, ProjectInstance) and is_module_class(value.cls):
        return ProjectModel(value.cls, wrapping=Wrapping.BARE)
    return value


@noted
def trains_itself(cls: ClassInfo) -> bool:
    """Whether the objects of a module class are trainers rather than networks, by the text of the class."""
    if not all(base in WITHOUT_FORWARD for base in cls.library_bases()):
        return False
    nodes = [each.node for each in cls.project_lineage()]
    called = [call.func for node in nodes for call in of_class(node, cst.Call) if isinstance(call.func, cst.Attribute)]
    runs_backward = any(each.attr.value == _BACKWARD and not is_super(each.value) for each in called)
    steps = any(each.attr.value == _STEP and self_attribute(each.value) for each in called)
    return (runs_backward and steps) or any(_keeps_one_of(each, _WRAPS_OR_STARTS) for each in cls.project_lineage())


def wraps_own_part(cls: ClassInfo) -> bool:
    """Whether a class or one of its bases assigns a wrapper of data parallelism to an attribute of its objects."""
    return any(_keeps_one_of(each, WRAPPER_CLASSES) for each in cls.project_lineage())


def _keeps_one_of(cls: ClassInfo, classes: frozenset[str]) -> bool:
    """Whether a class makes an object of one of some classes of libraries, and keeps it as an attribute."""
    names = cls.module.notes.cached((_names_of, classes), partial(_names_of, classes, cls.module.tree))
    return any(
        isinstance(each.value, cst.Call)
        and last_name(each.value.func) in names
        and any(self_attribute(target.target) for target in each.targets)
        for each in of_class(cls.node, cst.Assign)
    )


def _names_of(classes: frozenset[str], tree: cst.Module) -> frozenset[str]:
    """The names of classes of libraries in a file: `from … import DistributedDataParallel as DDP`."""
    imported = (each.names for each in of_class(tree, cst.ImportFrom))
    aliases = (alias for names in imported if not isinstance(names, cst.ImportStar) for alias in names)
    renamed = (each.evaluated_alias for each in aliases if each.evaluated_name in classes)
    return classes.union(filter(None, renamed))
