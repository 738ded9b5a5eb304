"""Attributes that a class annotates with a class of the project, where nothing is known of what is assigned.

For example:

    class Runner:
        algorithm: PPO
        def __init__(self, config):
            self.algorithm = find(config.name)(config)      unknown
        def learn(self):
            self.algorithm.update()                         PPO.update: an object of the annotated class
"""

from __future__ import annotations

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import UNKNOWN, Value


def as_annotated(frame: Frame, cls: ClassInfo, name: str, value: Value) -> Value:
    """The value of `self.name`, of which `value` is known by its assignments."""
    annotated = frame.engine.class_variable(cls, name) if value is UNKNOWN else None
    return annotated if isinstance(annotated, ProjectInstance) else value
