"""How to do something at a place, in terms of the objects available there: the table for the help of all rules.

A subclass of Trainer has its own accelerator, a callback has the trainer's state, a training loop its Accelerator, and
a script with plain torch.distributed none of them.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from trl_lint.analysis.events import AttributeRead
from trl_lint.analysis.observers.backends import uses_accelerate
from trl_lint.domain.kinds import LibraryName
from trl_lint.knowledge import library, lightning
from trl_lint.knowledge.heuristics import BEFORE_ACCELERATE, TORCH_DISTRIBUTED
from trl_lint.knowledge.torch_distributed import MODULE
from trl_lint.wording.shown_code import shown_source

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo


class Surroundings(Enum):
    TRAINER = "a method of a Trainer"
    CALLBACK = "a method of a TrainerCallback"
    ACCELERATE = "code with an Accelerator"
    TORCH = "code of plain torch.distributed"
    LIGHTNING = "a method of a module or a callback of Lightning"


_TRAINER, _CALLBACK, _ACCELERATE, _TORCH, _LIGHTNING = Surroundings

# The texts by topic. {accelerator}, {state}, {dist} and {trainer} are the names used at the place.
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
    },
    _TORCH: {
        "main": "`if {dist}.get_rank() == 0:`",
        "gather mean": "`{dist}.all_reduce(value)`, divided by `{dist}.get_world_size()`, then `.item()`",
        "gather sum": "`{dist}.all_reduce(value)`, then `.item()`",
        "gather max": "`{dist}.all_reduce(value, op={dist}.ReduceOp.MAX)`, then `.item()`",
        "gather min": "`{dist}.all_reduce(value, op={dist}.ReduceOp.MIN)`, then `.item()`",
        "gather samples": "`{dist}.all_gather_object(parts, predictions)`, and the labels likewise",
        "add up": "`both = torch.stack([total, count])`, `{dist}.all_reduce(both)`, `total, count = both`",
        "pad": "`F.pad`, to the longest of all ranks (`{dist}.all_reduce(length, op={dist}.ReduceOp.MAX)`)",
        "agree": "`{dist}.all_reduce` or `{dist}.broadcast` it",
        "first": (
            "`if {dist}.get_rank() > 0: {dist}.barrier()` before it, `if {dist}.get_rank() == 0: {dist}.barrier()` "
            "after it"
        ),
        "unwrap": "`{model}.module.{what}`",
        "bare": "`{model}.module`",
        "generate": "generate with the bare model: `{model}.module.generate(…)`",
        "device": 'on the GPU of this process (`torch.device("cuda", int(os.environ["LOCAL_RANK"]))`)',
        "local rank": '`int(os.environ["LOCAL_RANK"])`',
    },
}
_WORDS[_LIGHTNING] = {
    **_WORDS[_TORCH],
    "main": "`if {trainer}.is_global_zero:`",
    "gather mean": '`{trainer}.strategy.reduce(value, reduce_op="mean")`, then `.item()`',
    "gather sum": '`{trainer}.strategy.reduce(value, reduce_op="sum")`, then `.item()`',
    "agree": "`{trainer}.strategy.reduce` or `{trainer}.strategy.broadcast` it",
    "unwrap": "`{trainer}.lightning_module.{what}`",
    "bare": "`{trainer}.lightning_module`",
    "generate": "generate with the bare model: `{trainer}.lightning_module.generate(…)`",
    "device": "on this process's device (`{trainer}.strategy.root_device`)",
    "local rank": "`{trainer}.local_rank`",
}


# Surroundings in which the context managers of TRL can be used.
_HAVE_TRL = frozenset({_TRAINER, _ACCELERATE})

# Surroundings in which code without an accelerator may have its own condition for the main process.
_MAY_HAVE_TESTS = frozenset({_ACCELERATE, _LIGHTNING, _TORCH})


def said(about: str, event: Any, accelerator: str = "", **more: str) -> str:
    """How to do something at the place of an event. accelerator: the expression for it there, if known."""
    accelerator = accelerator or getattr(event, "accelerator", "")
    surroundings = surroundings_of(event.module, event.function, accelerator)
    own = "self.accelerator" if surroundings is _TRAINER else "accelerator"
    if about == "main" and surroundings is _ACCELERATE:  # it is available without an Accelerator, too
        own = "PartialState()"
    if about == "generate" and surroundings in _HAVE_TRL and _has_trl(event.module):
        about = "generate with trl"
    own_test = _own_test(event) if about == "main" and not accelerator and surroundings in _MAY_HAVE_TESTS else ""
    if own_test:
        return f"`if {own_test}:`"
    names = {
        "accelerator": accelerator or own,
        "state": _state(event.function),
        "dist": _dist(event.module),
        "trainer": _trainer(event.function),
    }
    return _WORDS[surroundings][about].format(**names, **more)


def _own_test(event: Any) -> str:
    """The condition for the main process that the code has; "" if it has none."""
    from trl_lint.analysis.transfer.processes.main_process_tests import main_process_test

    return main_process_test(event.module, event.function, event.node)


def _has_trl(module: Any) -> bool:
    return bool(module.name.startswith("trl.") or module.mentions(rb"\btrl\b|unwrap_model_for_generation"))


def owner_of(event: AttributeRead) -> str:
    """The name of the model whose attribute is read; "model" if it has no name."""
    return model_in(event.module, getattr(event.node, "value", None))  # `getattr(model, name)` has none


def model_in(module: Any, expression: Any) -> str:
    """A model as an expression names it; "model" if that is not a name."""
    text = "" if expression is None else shown_source(module, expression)
    return text if text and all(part.isidentifier() for part in text.split(".")) else "model"


def surroundings_of(module: Any, owner: Any, accelerator: str = "") -> Surroundings:
    cls = _class_around(owner)
    if not accelerator and _is_of_lightning(cls):
        return _LIGHTNING
    if module.shows(BEFORE_ACCELERATE):
        return _TORCH
    for base, surroundings in (("Trainer", _TRAINER), ("TrainerCallback", _CALLBACK)):
        if cls is not None and any(library.is_subclass(each, f"transformers.{base}") for each in cls.library_bases()):
            return surroundings
    if accelerator or uses_accelerate(module) or not module.shows(TORCH_DISTRIBUTED):
        return _ACCELERATE
    return _TORCH


def _class_around(owner: Any) -> Any:
    """The class of a method, also for functions defined inside a method."""
    while owner is not None and owner.cls is None and owner.closure is not None:
        owner = owner.closure.function
    return None if owner is None else owner.cls


def _is_of_lightning(cls: ClassInfo | None) -> bool:
    return cls is not None and (lightning.is_callback(cls.library_bases()) or lightning.is_module(cls.library_bases()))


def _trainer(owner: FunctionInfo | None) -> str:
    """The expression for Lightning's trainer in a method: hooks of a callback get it, and a module has it."""
    cls = _class_around(owner)
    is_given = owner is not None and any(each.name == "trainer" for each in owner.parameters)
    is_module = cls is not None and lightning.is_module(cls.library_bases())
    return "self.trainer" if is_module and not is_given else "trainer"


def _state(owner: Any) -> str:
    """The parameter name for the trainer's state in a callback's hook."""
    is_hook = (
        owner is not None and library.hook("transformers.TrainerCallback", owner.name) and len(owner.parameters) > 2
    )
    return owner.parameters[2].name if is_hook and not owner.parameters[2].star else "state"


def _dist(module: Any) -> str:
    """The name of torch.distributed in a module."""
    names = module.names.items()
    found = (name for name, value in names if isinstance(value, LibraryName) and value.name == MODULE)
    return next(found, MODULE)
