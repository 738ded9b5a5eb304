"""Wrapped models that are passed to a pipeline of Diffusers, which reads their attributes.

Events of a script:

    unet = accelerator.prepare(unet)
    DiffusionPipeline.from_pretrained(path, unet=unet)      PassedToPipeline
    DiffusionPipeline.from_pretrained(path, unet=accelerator.unwrap_model(unet))    none: the bare model
    OwnPipeline.from_pretrained(path, light_encoder=encoder)    none: no pipeline of Diffusers has such a part
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.events import PassedToPipeline
from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.domain.kinds import PreparedObject
from trl_lint.domain.model_roles import wrapping_of
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY, Value
from trl_lint.knowledge.heuristics import PIPELINE
from trl_lint.knowledge.models import PIPELINE_MODELS

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

_MAKES = "from_pretrained"


class Pipelines(Observer["Frame"]):
    emits = frozenset({PassedToPipeline})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if PIPELINE.fits(name):
            _emit(frame, args, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name == _MAKES and isinstance(receiver, ClassValue) and _is_pipeline(receiver.cls):
            _emit(frame, args, node)


def _is_pipeline(cls: ClassInfo) -> bool:
    """Whether a class of the project is a pipeline of Diffusers, or derives from one."""
    names = (f"{each.module.name}.{each.name}" for each in cls.project_lineage())
    return any(map(PIPELINE.fits, (*names, *cls.library_bases())))


def _emit(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    if frame.attribute_error_depth or frame.memory.control.engine:
        return
    for key, value in args.named():
        if isinstance(key, str) and key not in PIPELINE_MODELS:
            continue
        argument = args.nodes.get(key)
        model = value if argument is None or wrapped_models.is_scheduler(argument.value) else _as_model(value)
        if argument is not None and wrapping_of(model) in WRAPPED_ON_SOME_WAY:
            frame.emit(
                PassedToPipeline,
                node,
                tag=key,
                model=model,
                argument=argument,
                name=key if isinstance(key, str) else "",
                accelerator=frame.accelerator(),
            )


def _as_model(value: Value) -> Value:
    """A prepared object that is passed to a pipeline is a model: pipelines take no optimizer, loader or schedule."""
    return wrapped_models.narrowed_to_model(value) if isinstance(value, PreparedObject) else value


OBSERVER = Pipelines()
