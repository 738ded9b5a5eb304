"""Weights that are saved out of a wrapper as this rank has them, of which an engine may have given it only a part.

Events of a program with `model = accelerator.prepare(net)` and `bare = accelerator.unwrap_model(model)`:

    bare.save_pretrained(folder)                                                 ShardsSaved
    torch.save({"model": bare.state_dict()}, path)                               ShardsSaved
    trainer.model.save_pretrained(folder)                                        ShardsSaved
    trainer = Trainer(net); trainer.train(); net.save_pretrained(folder)         ShardsSaved
    bare.save_pretrained(folder, state_dict=accelerator.get_state_dict(model))   none: these are whole
    with deepspeed.zero.GatheredParameters(bare.parameters()):
        bare.save_pretrained(folder)                                             none: they are whole here
    best = bare.state_dict()                                                     none: nothing saves it
    if is_deepspeed_zero3_enabled(): ...                                         none from here on: the function knows

After `fully_shard(net)`, whose DTensors are whole in what all ranks save together:

    if rank == 0: torch.save(net.state_dict(), path)                             ShardsSaved
    if rank == 0: net.save_pretrained(folder)                                    ShardsSaved
    torch.save(net.state_dict(), f"{rank}.pt")                                   none: each rank saves its own
    dcp.save(net.state_dict(), checkpoint_id=folder)                             none: the ranks save all of them
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.checkpoint_events import ShardsSaved
from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_of
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.syntax import (
    assigned_once,
    contexts_around,
    innermost,
    keyword_value,
    last_name,
    of_class,
    precedes,
    used_names,
    value_names,
)
from trl_lint.analysis.state.observing import Observer
from trl_lint.domain.kinds import LibraryInstance, ShardingAccelerator, library_name_of
from trl_lint.domain.model_roles import has_dtensors, is_replicated, is_sharded_among_all, is_spread, wrapping_of
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge import library
from trl_lint.knowledge.engines import ENGINE
from trl_lint.knowledge.models import GIVEN_WEIGHTS, INNER_MODEL, SAVES_ITSELF
from trl_lint.knowledge.random_draws import TRAINER
from trl_lint.knowledge.torch import GIVES_WEIGHTS, SAVES_WEIGHTS

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

# Methods called so, and functions, save what they get: `accelerator.save(state, path)`.
_SAVES = frozenset(name.rpartition(".")[2] for name in SAVES_WEIGHTS)
# The place of the weights that a model gets to write.
_PLACE = 2
_FOLDER = (0, "save_directory")
# In this block, torch's FSDP puts together what the wrapper is asked for.
_STATE_TYPES = "state_dict_type"
_MODEL, _TRAIN = "model", "train"
_XLA = "torch_xla"
# The library of adapters.
_ADAPTERS = b"peft"


class SavedShards(Observer["Frame"]):
    emits = frozenset({ShardsSaved})

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name not in (SAVES_ITSELF, GIVES_WEIGHTS) or not isinstance(node, cst.Call):
            return
        owner = node.func.value if isinstance(node.func, cst.Attribute) else None
        if owner is None or not frame.engine.needs_event(ShardsSaved):
            return
        if has_dtensors(receiver):
            if name == SAVES_ITSELF and _takes_own(args) and _is_for_some_ranks(frame, args.get(*_FOLDER)):
                _emit_part(frame, receiver, name, node, owner)
            return
        trainer = _trainer(frame, owner) or _trained_by(frame, owner, node)
        unwrapping = _unwrapping(frame, owner)
        if trainer is None and not (_shards(frame, unwrapping) or _is_inside(frame, receiver, owner)):
            return
        saves = _takes_own(args) if name == SAVES_ITSELF else not args.all() and _is_saved(frame.root, node)
        if saves and not _has_whole(frame, receiver, name, node):
            frame.emit(
                ShardsSaved,
                node,
                model=receiver,
                owner=owner,
                trainer=trainer,
                wrapped=None if unwrapping is None else unwrapping.args[0].value,
                accelerator=frame.accelerator(),
                is_given_whole=GIVEN_WEIGHTS in frame.memory.names,
                by_adapters=_ADAPTERS in (frame.module.source or frame.module.tree.bytes),
            )

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """DTensors are saved by one rank, which may be asked for by all."""
        parameters = SAVES_WEIGHTS.get(name)
        saved = None if parameters is None else args.expression(parameters[0][1]) or args.expression(parameters[0][0])
        if parameters is None or saved is None or not _is_for_some_ranks(frame, args.get(*parameters[1])):
            return
        for each in _parts(saved):
            taken = _taken(frame, each, node)
            if taken is not None:
                _emit_part(frame, frame.value_of(taken[1]), GIVES_WEIGHTS, *taken)


def _emit_part(frame: Frame, model: Value, method: str, node: cst.Call, owner: cst.BaseExpression) -> None:
    """Report the shards of a model that the code shards itself, unless they are those of a group of ranks."""
    if is_sharded_among_all(model) and not _has_whole(frame, model, method, node):
        frame.emit(ShardsSaved, node, model=model, owner=owner)


def _is_for_some_ranks(frame: Frame, place: Value | None) -> bool:
    """Whether only some ranks save, by their number, and not each of them in a place of its own."""
    return frame.memory.control.is_chosen_by_rank and (place is None or not place.rank.differs)


def _taken(frame: Frame, saved: cst.BaseExpression, saving: cst.CSTNode) -> tuple[cst.Call, cst.BaseExpression] | None:
    """The call that gives the DTensors of a model that are saved, and the model: by a name that nothing else uses."""
    found = saved
    if isinstance(saved, cst.Name):
        made = assigned_once(frame.root, saved.value)
        uses = sum(each.value == saved.value for each in value_names(frame.root))
        inside = sum(each.value == saved.value for each in value_names(saving))
        if made is None or uses != inside + 1:
            return None
        found = made
    match found:
        case cst.Call(func=cst.Attribute(value=model, attr=cst.Name(name)), args=[]) if name == GIVES_WEIGHTS:
            return (found, model) if has_dtensors(frame.value_of(model)) else None
    return None


def _takes_own(args: Arguments) -> bool:
    """Whether a model that saves itself is not given the weights that it writes."""
    is_given = GIVEN_WEIGHTS in args.keywords or len(args.positional) > _PLACE
    return not is_given and args.star is None and args.double is None


def _has_whole(frame: Frame, model: Value, method: str, node: cst.Call) -> bool:
    """Whether the weights may be whole here, or the code minds that they are not."""
    cls = class_of(model)
    return (
        is_spread(model)
        or frame.memory.control.parameters_gathered
        or frame.asks_for_engine
        or _STATE_TYPES in contexts_around(frame.root, node)
        or (cls is not None and cls.find(method) is not None)
        or is_test(frame.function)
        or _is_for_tpu(frame)
    )


def _is_for_tpu(frame: Frame) -> bool:
    """Whether a function uses PyTorch/XLA, under which these engines do not run: `xm.rendezvous("saving")`."""
    known = (frame.module.names.get(each) for each in used_names(frame.root))
    return any(library_name_of(each).startswith(_XLA) for each in known)


def _is_saved(root: cst.CSTNode, state: cst.Call) -> bool:
    """Whether a function saves a state dict, at once or by the name that it gives it.

    By the name of a parameter, it is for callers that have not gathered the weights: `if state_dict is None: …`.
    """
    assigned = innermost(root, state, cst.Assign)
    given = {each.name.value for each in root.params.params} if isinstance(root, cst.FunctionDef) else set()
    names = {
        each.target.value
        for each in (() if assigned is None or assigned.value is not state else assigned.targets)
        if isinstance(each.target, cst.Name) and each.target.value not in given
    }
    return any(
        each is state or (isinstance(each, cst.Name) and each.value in names)
        for call in of_class(root, cst.Call)
        for argument in call.args
        if last_name(call.func) in _SAVES or (last_name(call.func) == SAVES_ITSELF and argument.keyword is not None)
        for each in _parts(argument.value)
    )


def _parts(saved: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What is saved: the values of a dict that is written there, one by one."""
    if not isinstance(saved, cst.Dict):
        yield saved
        return
    for each in saved.elements:
        yield from _parts(each.value)


def _is_inside(frame: Frame, model: Value, owner: cst.BaseExpression) -> bool:
    """Whether a model is the module in a wrapper, which may shard it."""
    if isinstance(owner, cst.Attribute) and owner.attr.value == INNER_MODEL:
        around = frame.value_of(owner.value)
        if isinstance(around, LibraryInstance) and around.name == ENGINE:
            return True
    return wrapping_of(model) is Wrapping.UNWRAPPED and not is_replicated(model)


def _shards(frame: Frame, unwrapping: cst.Call | None) -> bool:
    """Whether an Accelerator takes a model out of a wrapper that passes its attributes on, as that of FSDP does."""
    func = None if unwrapping is None else unwrapping.func
    return isinstance(func, cst.Attribute) and isinstance(frame.known_value(func.value), ShardingAccelerator)


def _trainer(frame: Frame, owner: cst.BaseExpression) -> cst.BaseExpression | None:
    """The expression of the Trainer whose model an expression gives: `trainer.model`."""
    match owner:
        case cst.Attribute(value=trainer, attr=cst.Name(name)) if name == _MODEL and _is_trainer(frame, trainer):
            return trainer
    return None


def _trained_by(frame: Frame, owner: cst.BaseExpression, saving: cst.Call) -> cst.BaseExpression | None:
    """The Trainer that has trained a model before it is saved by the name by which the Trainer was given it."""
    if not isinstance(owner, cst.Name):
        return None
    for call in of_class(frame.root, cst.Call):
        match call.func:
            case cst.Attribute(value=cst.Name(name) as trainer, attr=cst.Name(method)) if method == _TRAIN:
                made = assigned_once(frame.root, name)
                if _is_given(made, owner) and precedes(frame.root, call, saving) and _is_trainer(frame, trainer):
                    return trainer
    return None


def _is_given(made: cst.BaseExpression | None, model: cst.Name) -> bool:
    """Whether a Trainer is made with a model, by its name: `Trainer(net, args)`, `Trainer(args=args, model=net)`."""
    match made:
        case cst.Call(args=[cst.Arg(value=first, keyword=None, star=""), *_]) if first.deep_equals(model):
            return True
        case cst.Call():
            named = keyword_value(made, _MODEL)
            return named is not None and named.deep_equals(model)
    return False


def _is_trainer(frame: Frame, node: cst.BaseExpression) -> bool:
    value = frame.value_of(node)
    bases = value.cls.library_bases() if isinstance(value, ProjectInstance) else ()
    names = (value.name,) if isinstance(value, LibraryInstance) else bases
    return any(library.is_subclass(each, TRAINER, frame.engine.versions) for each in names)


def _unwrapping(frame: Frame, owner: cst.BaseExpression) -> cst.Call | None:
    """The call by which a model was taken out of its wrapper: `accelerator.unwrap_model(model)`."""
    found = assigned_once(frame.root, owner.value) if isinstance(owner, cst.Name) else owner
    match found:
        case cst.Call(func=cst.Attribute(attr=cst.Name(name)), args=[cst.Arg(star=""), *_]) if name in library.UNWRAPS:
            return found
    return None


OBSERVER = SavedShards()
