"""How to do something at a place, in terms of the objects available there: the table for the help of all rules.

A subclass of Trainer has its own accelerator, a callback has the trainer's state, a training loop its Accelerator, the
classes of Lightning have its trainer, and a script with plain torch.distributed has none of them. A helper that shows
none of this is told in the terms of the files through which it is reached, or else of the project.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from trl_lint.analysis.events import AttributeRead
from trl_lint.analysis.observers.backends import uses_accelerate
from trl_lint.domain.kinds import LibraryName
from trl_lint.domain.provenance import Step, steps
from trl_lint.knowledge import accelerate, library, lightning
from trl_lint.knowledge.heuristics import BEFORE_ACCELERATE, TORCH_DISTRIBUTED
from trl_lint.knowledge.torch_distributed import MODULE
from trl_lint.wording.shown_code import shown_source

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.analysis.program.project.project import Module


class Surroundings(Enum):
    TRAINER = "a method of a Trainer"
    CALLBACK = "a method of a TrainerCallback"
    ACCELERATE = "code with an Accelerator"
    LIGHTNING = "a method of a class that Lightning runs"
    LIGHTNING_SCRIPT = "other code of a file that imports Lightning"
    FABRIC = "code with a Fabric"
    TORCH = "code of plain torch.distributed"


_TRAINER, _CALLBACK, _ACCELERATE, _LIGHTNING, _LIGHTNING_SCRIPT, _FABRIC, _TORCH = Surroundings

# The texts by topic. {accelerator} (or the Fabric), {state}, {dist} and {trainer} are the names used at the place,
# {module} that of the LightningModule.
_ALIKE: dict[str, str] = {
    "main": "`if {accelerator}.is_main_process:`",
    "gather mean": "`{accelerator}.gather(value).mean()`, then `.item()`",
    "gather sum": "`{accelerator}.gather(value).sum()`, then `.item()`",
    "gather max": "`{accelerator}.gather(value).max()`, then `.item()`",
    "gather min": "`{accelerator}.gather(value).min()`, then `.item()`",
    "gather samples": "`predictions, labels = {accelerator}.gather_for_metrics((predictions, labels))`",
    "add up": '`total, count = {accelerator}.reduce(torch.stack([total, count]), reduction="sum")`',
    "pad": "`{accelerator}.pad_across_processes(x, dim=…)`",
    "agree": "gather, reduce or broadcast it",
    "first": "`with PartialState().main_process_first():`",
    "unwrap": "`{accelerator}.unwrap_model({model}).{what}`",
    "bare": "`{accelerator}.unwrap_model({model})`",
    "generate": "generate with the bare model: `{accelerator}.unwrap_model({model}).generate(…)`",
    "generate with trl": (
        "generate with the bare model: `{accelerator}.unwrap_model({model}).generate(…)`, or, where DeepSpeed ZeRO-3 "
        "may be used, in `with unwrap_model_for_generation({model}, {accelerator}) as unwrapped_model:`"
    ),
    "device": "on the accelerator's device",
    "local rank": "`{accelerator}.local_process_index` or `$LOCAL_RANK`",
    "seed": "call `set_seed`",
}
_PLAIN: dict[str, str] = {
    "main": "`if {dist}.get_rank() == 0:`",
    "main at first": '`if int(os.environ.get("RANK", 0)) == 0:`',
    "gather mean": "`{dist}.all_reduce(value)`, then `value.item() / {dist}.get_world_size()`",
    "gather sum": "`{dist}.all_reduce(value)`, then `value.item()`",
    "gather max": "`{dist}.all_reduce(value, op={dist}.ReduceOp.MAX)`, then `value.item()`",
    "gather min": "`{dist}.all_reduce(value, op={dist}.ReduceOp.MIN)`, then `value.item()`",
    "gather samples": "`{dist}.all_gather_object(parts, predictions)`, and the labels likewise",
    "add up": "`both = torch.stack([total, count])`, `{dist}.all_reduce(both)`, `total, count = both`",
    "pad": "`F.pad`, to the longest of all ranks (`{dist}.all_reduce(length, op={dist}.ReduceOp.MAX)`)",
    "agree": "reduce or broadcast it: `{dist}.all_reduce`, `{dist}.broadcast`",
    "first": (
        "`if {dist}.get_rank() > 0: {dist}.barrier()` before it, `if {dist}.get_rank() == 0: {dist}.barrier()` after it"
    ),
    "unwrap": "`{model}.module.{what}`",
    "bare": "`{model}.module`",
    "generate": "generate with the bare model: `{model}.module.generate(…)`",
    "device": 'on the GPU of this process (`torch.device("cuda", int(os.environ["LOCAL_RANK"]))`)',
    "local rank": '`int(os.environ["LOCAL_RANK"])`',
    "seed": "seed every rank alike",
}
_WORDS: dict[Surroundings, dict[str, str]] = {
    _ACCELERATE: _ALIKE,
    _TRAINER: {
        **_ALIKE,
        "main": "`if self.is_world_process_zero():`",
        "device": "on the accelerator's device (`{accelerator}.device`)",
    },
    _CALLBACK: {
        "main": "`if {state}.is_world_process_zero:`",
        "gather mean": "`accelerate.utils.gather(value).mean()`, then `.item()`",
        "gather sum": "`accelerate.utils.gather(value).sum()`, then `.item()`",
        "gather max": "`accelerate.utils.gather(value).max()`, then `.item()`",
        "gather min": "`accelerate.utils.gather(value).min()`, then `.item()`",
        "gather samples": "`accelerate.utils.gather_object` them",
        "add up": '`total, count = accelerate.utils.reduce(torch.stack([total, count]), reduction="sum")`',
        "pad": "`accelerate.utils.pad_across_processes(x, dim=…)`",
        "agree": "gather, reduce or broadcast it",
        "first": "`with args.main_process_first():`",
        "unwrap": "`accelerate.utils.extract_model_from_parallel({model}).{what}`",
        "bare": "`accelerate.utils.extract_model_from_parallel({model})`",
        "generate": "generate with the bare model: `accelerate.utils.extract_model_from_parallel({model}).generate(…)`",
        "device": "on this process's device (`args.device`)",
        "local rank": "`args.local_process_index` or `$LOCAL_RANK`",
        "seed": "call `set_seed`",
    },
    _LIGHTNING: {
        **_PLAIN,
        "main": "`if {trainer}.is_global_zero:`",
        "gather mean": "`{module}.all_gather(value).mean()`, then `.item()`",
        "gather sum": "`{module}.all_gather(value).sum()`, then `.item()`",
        "gather max": "`{module}.all_gather(value).max()`, then `.item()`",
        "gather min": "`{module}.all_gather(value).min()`, then `.item()`",
        "gather samples": "`predictions, labels = {module}.all_gather((predictions, labels))`",
        "add up": '`total, count = {trainer}.strategy.reduce(torch.stack([total, count]), reduce_op="sum")`',
        "pad": "`F.pad`, to the longest of all ranks (`{module}.all_gather(length).max()`)",
        "agree": "reduce it: `{trainer}.strategy.reduce_boolean_decision(…)`",
        "first": "in `prepare_data`, which Lightning runs on one process of each node",
        "device": "on this process's device (`{module}.device`)",
        "local rank": "`{trainer}.local_rank`",
        "unwrap": "`{trainer}.lightning_module.{what}`",
        "bare": "`{trainer}.lightning_module`",
        "generate": "generate with the bare model: `{trainer}.lightning_module.generate(…)`",
        "seed": "call `seed_everything`",
    },
    _LIGHTNING_SCRIPT: {**_PLAIN, "main": "in a function with `@rank_zero_only`", "seed": "call `seed_everything`"},
    _FABRIC: {
        **_PLAIN,
        "gather mean": '`{accelerator}.all_reduce(value, reduce_op="mean")`, then `.item()`',
        "gather sum": '`{accelerator}.all_reduce(value, reduce_op="sum")`, then `.item()`',
        "gather max": "`{accelerator}.all_gather(value).max()`, then `.item()`",
        "gather min": "`{accelerator}.all_gather(value).min()`, then `.item()`",
        "gather samples": "`predictions, labels = {accelerator}.all_gather((predictions, labels))`",
        "add up": '`total, count = {accelerator}.all_reduce(torch.stack([total, count]), reduce_op="sum")`',
    },
    _TORCH: _PLAIN,
}


# Surroundings in which the context managers of TRL can be used.
_HAVE_TRL = frozenset({_TRAINER, _ACCELERATE})

# Surroundings in which code without an accelerator may have its own condition for the main process.
_MAY_HAVE_TESTS = frozenset({_ACCELERATE, _LIGHTNING_SCRIPT, _TORCH})

# The class of callbacks, whose hooks get the trainer's arguments, its state and its control.
_OF_CALLBACKS = "transformers.TrainerCallback"

# The attributes of events from which the place is reached, or where its values come from.
_REACHED_FROM = ("called", "condition", "draw", "index", "model", "operand", "provenance", "sync_point", "use", "value")


def said(about: str, event: Any, accelerator: str = "", **more: str) -> str:
    """How to do something at the place of an event. accelerator: the expression for it there, if known."""
    accelerator = accelerator or getattr(event, "accelerator", "")
    surroundings = surroundings_of(event.module, event.function, accelerator, around=_around(event))
    if lightning.is_of_fabric(getattr(event, "sink", "")):
        surroundings = _FABRIC
    own = "self.accelerator" if surroundings is _TRAINER else "accelerator"
    if about == "main" and surroundings is _ACCELERATE:  # it is available without an Accelerator, too
        own = "PartialState()"
    if about == "generate" and surroundings in _HAVE_TRL and _has_trl(event.module):
        about = "generate with trl"
    own_test = _own_test(event) if about == "main" and not accelerator and surroundings in _MAY_HAVE_TESTS else ""
    if own_test:
        return f"`if {own_test}:`"
    if about == "main" and surroundings is _TORCH and _is_before_group(event):
        about = "main at first"
    names = {
        "accelerator": accelerator or own,
        "state": state_in(event.function) or "state",
        "dist": _dist(event.module),
        **_of_lightning(_class_around(event.function)),
    }
    return _WORDS[surroundings][about].format(**names, **more)


def _own_test(event: Any) -> str:
    """The condition for the main process that the code has; "" if it has none."""
    from trl_lint.analysis.transfer.processes.main_process_tests import main_process_test

    return main_process_test(event.module, event.function, event.node)


def _is_before_group(event: Any) -> bool:
    from trl_lint.wording.started_later import is_group_started_later

    return is_group_started_later(event.module, event.function, event.node)


def _has_trl(module: Module) -> bool:
    return bool(module.name.startswith("trl.") or module.mentions(rb"\btrl\b|unwrap_model_for_generation"))


def uses_torch_distributed(event: Any) -> bool:
    """Whether the place of an event is in a file, or a project, for torch.distributed without another library."""
    return surroundings_of(event.module, event.function, around=_around(event)) is _TORCH


def owner_of(event: AttributeRead) -> str:
    """The name of the model whose attribute is read; "model" if it has no name."""
    return model_in(event.module, getattr(event.node, "value", None))  # `getattr(model, name)` has none


def model_in(module: Any, expression: Any) -> str:
    """A model as an expression names it; "model" if that is not a name."""
    text = "" if expression is None else shown_source(module, expression)
    return text if text and all(part.isidentifier() for part in text.split(".")) else "model"


def surroundings_of(
    module: Module, owner: FunctionInfo | None, accelerator: str = "", around: Iterable[Module] = ()
) -> Surroundings:
    """What a function has to work with. around: other files that are asked if its own does not show it."""
    if module.shows(BEFORE_ACCELERATE):
        return _TORCH
    cls = _class_around(owner)
    bases = () if cls is None else cls.library_bases()
    for base, surroundings in (("Trainer", _TRAINER), ("TrainerCallback", _CALLBACK)):
        if any(library.is_subclass(each, f"transformers.{base}") for each in bases):
            return surroundings
    if lightning.runs(bases):
        return _LIGHTNING
    if accelerator:
        return _ACCELERATE
    shown = (_shown_by(each) for each in (module, *around))
    return next((each for each in shown if each is not None), None) or _shown_by_project(module)


def _shown_by(module: Module) -> Surroundings | None:
    """What a file shows that its functions have; None if it shows nothing."""
    if uses_accelerate(module):
        return _ACCELERATE
    if module.shows(TORCH_DISTRIBUTED):
        return _TORCH
    return _LIGHTNING_SCRIPT if any(map(module.mentions, lightning.IMPORTS)) else None


def _shown_by_project(module: Module) -> Surroundings:
    """What the linted files show together: if they show nothing, an Accelerator is available without one, too."""
    if module.project_mentions(accelerate.SHOWN):
        return _ACCELERATE
    if any(map(module.project_mentions, lightning.IMPORTS)):
        return _LIGHTNING_SCRIPT
    return _TORCH if module.project_mentions(TORCH_DISTRIBUTED.pattern.encode()) else _ACCELERATE


def _around(event: Any) -> Iterator[Module]:
    """The files through which the place of an event is reached, or in which its values or conditions are made."""
    for found in (*(getattr(event, name, None) for name in _REACHED_FROM), *event.control.conditions):
        step = found if isinstance(found, Step) else getattr(found, "provenance", None) or getattr(found, "via", None)
        yield from (cast("Module", each.module) for each in reversed(steps(step)))


def _class_around(owner: FunctionInfo | None) -> ClassInfo | None:
    """The class of a method, also for functions defined inside a method."""
    while owner is not None and owner.cls is None and owner.closure is not None:
        owner = owner.closure.function
    return None if owner is None else owner.cls


def state_in(owner: FunctionInfo | None) -> str:
    """The parameter for the trainer's state in a callback's hook; "" in any other function."""
    if owner is None or owner.cls is None or not library.hook(_OF_CALLBACKS, owner.name):
        return ""
    if not any(library.is_subclass(each, _OF_CALLBACKS) for each in owner.cls.library_bases()):
        return ""
    third = owner.parameters[2] if len(owner.parameters) > 2 else None
    return third.name if third is not None and third.positional else ""


def _of_lightning(cls: ClassInfo | None) -> dict[str, str]:
    """How a method of a class that Lightning runs names the trainer and the LightningModule."""
    bases = () if cls is None else cls.library_bases()
    if lightning.is_callback(bases):
        return {"trainer": "trainer", "module": "pl_module"}
    return {
        "trainer": "self.trainer",
        "module": "self" if lightning.is_module(bases) else "self.trainer.lightning_module",
    }


def _dist(module: Module) -> str:
    """The name of torch.distributed in a module."""
    names = module.names.items()
    found = (name for name, value in names if isinstance(value, LibraryName) and value.name == MODULE)
    return next(found, MODULE)
