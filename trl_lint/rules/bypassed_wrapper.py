"""A training forward bypasses the wrapper: its gradients are not reduced.

## What it does
Reports a call, with gradients enabled and in code that a training step reaches, of the module inside
`DistributedDataParallel`, or of a part of it: the result of `accelerator.unwrap_model(model)`, `model.module`,
`self.model` of a Trainer, its `get_decoder()`, its `base_model_prefix`, or its methods that run a part of it. If the
model's class is outside the project, a method of `model.module` counts if a backward pass starts from its result, and
nothing calls the wrapper or is passed it with that result. It also reports

- a method of a library's trainer that runs the module that it is passed, as in
  `self._get_per_token_logps(self.model, ids, mask, keep)`;
- `model.module if distributed else model`, where the model is wrapped on that path;
- a `DistributedDataParallel(model)` whose result is discarded, also if a function of the project returns it, or is
  kept in an attribute of `self` that nothing calls, while the model in another attribute is called;
- one, or an `accelerator.prepare(model)`, whose result is only kept in a loop variable (`for model in models:`);
- `accelerator.prepare([model, optimizer])`, which returns the list unchanged;
- `with model.no_sync():` around the last backward pass before the model's optimizer takes a step, also if a condition
  enters it just then (`no_sync() if last else nullcontext()`, `no_backward_sync(model, enabled=last)`), and the
  same for what turns the reduction off (`model.require_backward_grad_sync = not last`,
  `model.set_requires_gradient_sync(not last)` of FSDP 2);
- a model that the same function makes and never wraps, with an optimizer that steps in the loop in which that of
  another, wrapped model does: a discriminator beside `generator = DDP(generator)`.

## Why is this bad?
DDP sets up gradient synchronisation in its own `forward`. If that is bypassed, nothing fails: each rank computes
gradients of its own data, nothing averages them, and every rank trains a different model. The saved one has seen the
data of one rank only. Under FSDP and ZeRO-3 the module's parameters may be shards that only the wrapper's forward
gathers.

## Example
```python
def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    unwrapped = self.accelerator.unwrap_model(model)
    return unwrapped(**inputs).loss
```

## Use instead
```python
def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
    return model(**inputs).loss
```

If you need only a part of the model (such as a decoder without its head), let the wrapper's forward run it: give the
model a `forward` that does what you need, or redirect it for one call, as TRL's
`_forward_redirection(model, unwrapped, method, *args)` does.

## Fix safety
The fix calls the wrapped model instead. It is *unsafe*, because it changes what is trained (that is its purpose). It
requires an unambiguous name for the wrapped model of that very module, or its attribute of `self`. A line that only
unwraps the model for this call is removed. It is a *hint* if a part of the model is called, if some ranks may not get
there (DDP's forward communicates), if the name of the wrapped model is gone (`unet = unet.module`), or if the line to
remove has a comment.

## Limits
These are not reported:

- code under `torch.no_grad()` or `torch.inference_mode()`, after `.eval()` or `.requires_grad_(False)` (also in a
  function of the project that freezes what it is passed), for copies and reference models, with an adapter disabled, in
  evaluation hooks, on the main process only, for DeepSpeed or FSDP only, and in functions from which no backward pass
  is visible;
- parts of a model that the constructor of its class, or of the class around the call, freezes;
- functions that all_reduce the gradients themselves, parameter by parameter, and calls of which only
  `torch.autograd.grad` takes gradients, without `create_graph`;
- calls whose result is discarded or only used without its gradients (`.item()`, `.detach()`, `>`), goes into the
  wrapper's forward or is combined with its result, also if a function that is passed the wrapper runs it, and
  embeddings in a file that passes them on as `inputs_embeds`;
- calls with what another wrapper, which is an attribute as well, has computed with gradients: it may be the one that
  is trained (`self.d.module(self.g(z))`);
- functions that also call the wrapper themselves, calls after one of the wrapper whose result the same backward pass
  starts from, and calls inside the wrapper's forward;
- a `no_sync()` that a condition enters, unless it is known to hold whenever the optimizer steps; one of another model
  than the optimizer's (`with discriminator.no_sync():` in the generator's step), or where the code does not show whose
  it is and runs several; one after which something unknown is passed the model, its optimizer or gradients, also by a
  function of the project; an optimizer that may reduce them itself (`DistributedFusedAdam`), or whose steps the loop
  undoes by loading weights; and files that average gradients or weights themselves;
- models without a wrapper that are passed to anything that may wrap them or reduce their gradients, kept in an object
  or a list, made with a wrapper, or of a class whose code, or arguments, know of ranks: each may have a part of its
  own; those that get what ranks have exchanged; those that only some ranks train; and those whose parameters, weights,
  gradients or optimizer something unknown is passed.

Whether the loss uses that very output is not checked. If a project shows DeepSpeed and no other engine, findings are
not in the default set, because DeepSpeed's hooks reduce each parameter's gradient whoever calls the forward. Nor are
they after something unknown that was made with the wrapper gets data (`attack = Attack(model)`, `attack(inputs)`): it
may run the wrapper, which prepares the next backward pass, whoever calls the forward.

## References
- https://github.com/huggingface/trl/pull/5934 (GKD, GOLD: the student's decoder was called directly)
- https://github.com/huggingface/trl/pull/6372 (the same in the fused losses of DPO and KTO)
- https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from trl_lint.analysis.events import ModelCalled, WrapperDropped
from trl_lint.analysis.gradient_events import GradientsKept, TrainedBare
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.engines import DEEPSPEED
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.domain.values import Wrapping
from trl_lint.findings import Consequence
from trl_lint.knowledge.models import KEEPS_GRADIENTS, REDUCES_GRADIENTS, SETS_REDUCTION
from trl_lint.knowledge.torch import SETS_GRADIENTS, WITHOUT_GRADIENTS
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording.shown_code import shown_source

if TYPE_CHECKING:
    from libcst import BaseExpression, CSTNode

_WHERE_TO_KEEP = "the code does not show where to keep the wrapped model, and what should still use the bare one"
_KEEP = "keep the result and call that, as in `model = DDP(model)`"
_KEEP_EACH = "store the result in place of the bare model: `models[index] = {}(model)`"
_IN_A_LIST = (
    "`prepare` returns a list unchanged: no model in it is wrapped and no loader is sharded, so that on several GPUs "
    "each rank trains its own model"
)
_ONE_BY_ONE = "pass its elements one by one: `accelerator.prepare(*things)`"
# What a forward of the wrapper prepares nothing in.
_NOT_PREPARED = WITHOUT_GRADIENTS | {KEEPS_GRADIENTS, SETS_GRADIENTS}
_LAST_REDUCES = "the code does not show how many batches a step is to have"
_LEAVE_LAST = "leave `{}` before the last backward pass of each step, which then reduces what has been added up"
_TURN_ON = "turn it on before the last forward of each step, whose backward pass then reduces what has been added up"
# What else keeps gradients from being reduced, and says so for the passes after it.
_SWITCHED_OFF = {REDUCES_GRADIENTS: ("is off", _TURN_ON), SETS_REDUCTION: ("has turned the reduction off", _TURN_ON)}
_HELP = "call the wrapped model instead"
_HELP_FOR_GIVEN = "pass the wrapped model instead"
_HELP_FOR_PART = "call the wrapped model, and let its `forward` run the part that you need, for example by an argument"


class BypassedWrapper(Rule[ModelCalled | WrapperDropped | GradientsKept | TrainedBare]):
    code = "TRL009"
    name = "bypassed-wrapper"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: ModelCalled | WrapperDropped | GradientsKept | TrainedBare) -> Iterator[Violation]:
        if isinstance(event, WrapperDropped):
            yield _dropped(event)
            return
        if isinstance(event, GradientsKept):
            yield _kept(event)
            return
        if isinstance(event, TrainedBare):
            yield _bare(event)
            return
        if not _is_bypass(event) or _is_dropped(event) or _goes_through_the_wrapper(event):
            return
        yield Violation(
            event=event,
            message=(
                f"{_what_is_called(event)}, and is called where gradients are needed: DDP does not see this "
                "forward, and on several GPUs each rank trains its own model"
            ),
            provenance=event.model.provenance or Step(event.module, event.node, "it is the module inside the wrapper"),
            help=_HELP_FOR_GIVEN if event.given is not None else _HELP_FOR_PART if event.path else _HELP,
            by_default=False if event.prepared or event.module.engines().are_likely_only(DEEPSPEED) else None,
        )


def _what_is_called(event: ModelCalled) -> str:
    from trl_lint.analysis.program.idioms.inner_modules import owner_of

    callee = cast("BaseExpression", getattr(event.node, "func", event.node))
    called = shown_source(event.module, callee)
    if event.given is not None:
        return f"`{called}` runs the module inside the wrapper, `{shown_source(event.module, event.given)}`"
    root = event.function.node if event.function is not None else event.module.tree
    taken_off = event.model.provenance
    owner = None if taken_off is None else owner_of(root, callee, taken_off.node)
    if owner is not None:
        return f"`{called}` belongs to `{shown_source(event.module, owner)}`, the module inside the wrapper"
    return f"`{called}` is {'a part of the' if event.path else 'the'} module inside the wrapper"


def _dropped(event: WrapperDropped) -> Violation:
    if event.is_list:
        return Violation(event=event, message=_IN_A_LIST, help=_ONE_BY_ONE, by_hand=_WHERE_TO_KEEP)
    called = shown_source(event.module, event.node.func)
    what = f"kept in `{event.kept}`, which nothing calls" if event.kept else "created and discarded"
    return Violation(
        event=event,
        message=(
            f"the wrapper is {what}: the model itself is unchanged, DDP does not see its forward, "
            "and on several GPUs each rank trains its own model"
        ),
        help=_KEEP_EACH.format(called) if event.in_loop else _KEEP,
        by_hand=_WHERE_TO_KEEP,
    )


def _kept(event: GradientsKept) -> Violation:
    """`no_sync()`, which is on, or what turns the reduction off, in the last backward pass of a step."""
    shown = shown_source(event.module, getattr(event.node, "func", event.node))
    name = shown.rpartition(".")[2]
    on_or_off, help_ = _SWITCHED_OFF.get(name, ("is on", _LEAVE_LAST))
    return Violation(
        event=event,
        message=(
            f"`{shown}` {on_or_off} in the last backward pass of each step: {_reducer(name)} does not reduce the "
            f"gradients that `{shown_source(event.module, event.step.func)}` takes, and on several GPUs each rank "
            "trains its own model"
        ),
        help=help_.format(shown),
        by_hand=_LAST_REDUCES,
    )


def _reducer(switch: str) -> str:
    return "FSDP" if switch == SETS_REDUCTION else "DDP"


def _bare(event: TrainedBare) -> Violation:
    model, other = (shown_source(event.module, each) for each in (event.node.func, event.other))
    return Violation(
        event=event,
        message=(
            f"`{model}` is trained without a wrapper, beside `{other}`, which has one: nothing reduces its gradients, "
            "and on several GPUs each rank trains its own model"
        ),
        help=f"wrap `{model}` as well",
        by_hand=_WHERE_TO_KEEP,
    )


def _is_bypass(event: ModelCalled) -> bool:
    """Whether the result of the forward is trained with, and the wrapper does not see the forward."""
    if event.model.wrapping is not Wrapping.UNWRAPPED or not event.model.grad:
        return False
    return event.trains and event.control.grad and not event.control.engine and not _is_of_one_rank(event)


def _is_of_one_rank(event: ModelCalled) -> bool:
    """Whether only the main process gets there, for example for a validation: nothing is trained in that way."""
    return any(
        each.uniformity is Uniformity.DIVERGENT
        and each.rank.origins == Origin.RANK
        and not _lets_others_train(each, event)
        for each in event.control.conditions
    )


def _lets_others_train(condition: Control, event: ModelCalled) -> bool:
    """Whether a condition let only the first rank leave before, or some ranks in an earlier round of a loop.

    if is_done and rank == 0: return
    """
    from trl_lint.analysis.program.idioms.path_conditions import branch_of, comes_after, exits_in
    from trl_lint.analysis.program.syntax import precedes
    from trl_lint.analysis.transfer.processes.main_process_tests import excludes_others

    test, root = place_of(condition), event.module.tree
    branch = None if test is None else branch_of(root, test)
    if branch is None or branch.orelse is not None or not exits_in(branch):
        return False
    around = root if event.function is None else event.function.node
    if precedes(around, event.node, branch):
        return True  # all ranks get there in the first round
    return comes_after(root, branch, event.node) and excludes_others(branch.test)


def _goes_through_the_wrapper(event: ModelCalled) -> bool:
    """Whether the result is combined with a forward of the wrapper before the backward pass: DDP reduces their sum.

    If another function unwraps the model and calls it as well, or passes on a loss, they may be combined there.
    """
    from trl_lint.analysis.program.idioms.result_uses import (
        Forwards,
        calls_a_name_in,
        embeds_for_a_forward,
        is_added_to,
        is_combined_with_calls,
    )
    from trl_lint.analysis.program.idioms.trained_through import gets_result_of
    from trl_lint.analysis.program.syntax import used_names

    root = event.function.node if event.function is not None else event.module.tree
    taken_off = event.model.provenance
    names = frozenset(name for name, _ in event.names)
    if taken_off is not None:
        # Another model's wrapper does not matter here. `getattr(model, "module", model)`, whatever `model` is.
        own = frozenset(used_names(taken_off.node))
        names = names & own or names or own
    forwards = Forwards(names, _own_attributes(event) or event.attributes, event.passed)
    if _is_prepared(event, root, names):
        return True
    if is_combined_with_calls(root, event.node, forwards, WITHOUT_GRADIENTS):
        return True
    if gets_result_of(root, event.node, Forwards(frozenset(), event.attributes), WITHOUT_GRADIENTS):
        return True
    if is_added_to(root, event.node, event.with_gradients) or embeds_for_a_forward(event.module.tree, root, event.node):
        return True
    return taken_off is not None and calls_a_name_in(taken_off.module.tree, taken_off.node, root, WITHOUT_GRADIENTS)


def _own_attributes(event: ModelCalled) -> frozenset[str]:
    """The attributes of `self` that are wrappers, and are named where the code takes this module off."""
    from trl_lint.analysis.program.syntax import below, self_attribute

    taken_off = event.model.provenance
    if taken_off is None:
        return event.attributes
    return event.attributes & {self_attribute(each) for each in below(taken_off.node)}


def _is_prepared(event: ModelCalled, root: CSTNode, names: frozenset[str]) -> bool:
    """Whether the wrapper of this very module has run before, in a forward that prepares the next backward pass."""
    from trl_lint.analysis.program.idioms.prepared_backward import is_prepared
    from trl_lint.analysis.program.idioms.result_uses import Forwards
    from trl_lint.analysis.program.syntax import below, contexts_around

    taken_off = event.model.provenance
    used_up, callee = event.passed - event.pending, getattr(event.node, "func", event.node)
    if taken_off is not None and not any(each is taken_off.node for each in below(root)):
        names &= frozenset(name for name, _ in event.names)  # where it was unwrapped, they meant something else
    forwards = (
        each
        for each in Forwards(names, _own_attributes(event), event.pending).calls_in(root)
        if id(each) not in used_up
        and not each.func.deep_equals(callee)
        and not _NOT_PREPARED & contexts_around(root, each)
    )
    return is_prepared(root, event.node, forwards)


def _is_dropped(event: ModelCalled) -> bool:
    from trl_lint.analysis.program.idioms.result_uses import is_dropped

    return is_dropped(event.function.node if event.function is not None else event.module.tree, event.node)
