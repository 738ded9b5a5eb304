"""A training forward goes through the module inside the wrapper, and its gradients are not synchronised.

## What it does
Reports a call, with gradients enabled and in code that a training step reaches, of the module that
`DistributedDataParallel` holds, or of a part of it: what `accelerator.unwrap_model(model)`, `model.module` or
`self.model` of a Trainer gives, its `get_decoder()`, its `base_model_prefix`, its own methods that run a part of it.
Of a model whose class is out of sight, a method of `model.module` is one where a backward pass starts from what it
gives, and nothing calls the wrapper. So is what `model.module if distributed else model` gives, where the model is
wrapped on that way. Reports a `DistributedDataParallel(model)` whose result nobody keeps, too, and an
`accelerator.prepare(model)` that is kept in the variable of the loop around it alone (`for model in models:`): the
model itself is not changed by it. So is an `accelerator.prepare([model, optimizer])` of a list, which it gives back
without a look at what is in it.

## Why is this bad?
DDP prepares the synchronisation of the gradients in its own `forward`. When that is left out, nothing fails: each
rank's backward pass computes gradients of its own data, nobody averages them, and every rank trains another model.
The one that is saved has seen the data of one rank only. Under FSDP and ZeRO-3 the parameters of the module may be
shards, which only the wrapper's forward puts together.

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

Where only a part of the model is wanted (a decoder without its head, say), have the wrapper's forward run it: give the
model a `forward` that does what you need, or redirect it for one call as TRL's `_forward_redirection(model, unwrapped,
method, *args)` does.

## Fix safety
The fix calls the wrapped model instead. It is unsafe, as it changes what is trained (that is its purpose), and is
only offered where the wrapped model of that very module has a name in reach, by which no other is meant. It is a hint
where a part of the model is called, where not all ranks may get there together (DDP's forward communicates), where
the name of the wrapped model is gone (`unet = unet.module`), and where a comment stands at the line that unwraps the
model for that call alone. Without a comment, that line is taken out.

## Limits
Silent under `torch.no_grad()` and `torch.inference_mode()`, after `.eval()` or `.requires_grad_(False)`, for copies and
reference models, with an adapter switched off, in hooks for evaluation, in functions from which no backward pass can be
seen, in functions that all_reduce the gradients themselves, parameter by parameter, in code for DeepSpeed or FSDP
alone, on the main process alone, where the result goes into the wrapper's forward, or is added to what that gives,
where it is an embedding of token ids in a file that hands such on as `inputs_embeds`, where the function that hands it
on calls the wrapper as well, and where it is thrown away. What is called inside the wrapper's forward is right. Whether
the loss is made of that very output is not asked. Where a project shows DeepSpeed and no other engine, findings are not
in the default set: its hooks reduce the gradients of each parameter, whoever calls the forward.

## References
- https://github.com/huggingface/trl/pull/5934 (GKD, GOLD: the student's decoder was called directly)
- https://github.com/huggingface/trl/pull/6372 (the same in the fused losses of DPO and KTO)
- https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import ModelCalled, WrapperDropped, shown_source
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.engines import DEEPSPEED
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Wrapping
from trl_lint.findings import Consequence
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS
from trl_lint.rules.base import Rule, Violation

_WHERE_TO_KEEP = (
    "under which name the wrapped model is kept, and what goes on to use the bare one, is the author's to say"
)
_KEEP_EACH = "keep what it returns in place of the bare ones: `models[index] = accelerator.prepare(model)`"
_IN_A_LIST = (
    "`prepare` gives a list back as it is, and looks at nothing in it: no model is wrapped, no loader is divided, and "
    "on several GPUs each rank trains a model of its own"
)
_ONE_BY_ONE = "hand over what is in it one by one: `accelerator.prepare(*things)`"
_HELP = "call the wrapped model, or have its forward run the part that you want"


class BypassedWrapper(Rule[ModelCalled | WrapperDropped]):
    code = "TRL009"
    name = "bypassed-wrapper"
    consequences = (Consequence.WRONG_TRAINING,)

    def check(self, event: ModelCalled | WrapperDropped) -> Iterator[Violation]:
        if isinstance(event, WrapperDropped):
            yield _dropped(event)
            return
        if not _is_bypass(event) or _is_dropped(event) or _goes_through_the_wrapper(event):
            return
        called = shown_source(event.module, getattr(event.node, "func", event.node))
        what = "a part of the module inside the wrapper" if event.path else "the module inside the wrapper"
        yield Violation(
            event=event,
            message=(
                f"`{called}` is {what}, and is called where gradients are needed: DDP does not see this "
                "forward, and on several GPUs each rank trains a model of its own"
            ),
            provenance=event.model.why or Step(event.module, event.node, "it is the module inside the wrapper"),
            help=_HELP,
            by_default=False if event.module.engines().are_likely_only(DEEPSPEED) else None,
        )


def _dropped(event: WrapperDropped) -> Violation:
    if event.is_list:
        return Violation(event=event, message=_IN_A_LIST, help=_ONE_BY_ONE, by_hand=_WHERE_TO_KEEP)
    return Violation(
        event=event,
        message=(
            "the wrapper is made and thrown away: the model stays as it is, DDP does not see its forward, "
            "and on several GPUs each rank trains a model of its own"
        ),
        help=_KEEP_EACH if event.is_prepared else "keep what it returns, and call that: `model = DDP(model)`",
        by_hand=_WHERE_TO_KEEP,
    )


def _is_bypass(event: ModelCalled) -> bool:
    """Whether what it computes is trained with, and the wrapper does not hear of it."""
    if event.model.wrapping is not Wrapping.UNWRAPPED or not event.model.grad:
        return False
    return event.trains and event.control.grad and not event.control.engine and not _is_of_one_rank(event.control)


def _is_of_one_rank(control: Control) -> bool:
    """Whether the main process alone gets there, say for a validation: nothing is trained that way."""
    return any(
        each.uniformity is Uniformity.DIVERGENT and each.rank.origins == Origin.RANK for each in control.conditions
    )


def _goes_through_the_wrapper(event: ModelCalled) -> bool:
    """Whether what it gives meets a forward of the wrapper before the backward pass: DDP reduces the sum of both.

    Where another function takes the wrapper off and calls it as well, or hands over a loss, they may meet there.
    """
    from trl_lint.analysis.program.idioms.result_uses import (
        embeds_for_a_forward,
        is_added_to,
        meets_calls_of,
        names_what_is_called,
    )
    from trl_lint.analysis.program.syntax import used_names

    root = event.owner.node if event.owner is not None else event.module.tree
    taken_off = event.model.why
    names = frozenset(name for name, _ in event.names)
    if taken_off is not None:
        # Another model's wrapper prepares nothing for this one. `getattr(model, "module", model)`, whatever `model` is.
        own = frozenset(used_names(taken_off.node))
        names = names & own or names or own
    if meets_calls_of(root, event.node, names, event.attributes, WITHOUT_GRADIENTS):
        return True
    if is_added_to(root, event.node, event.given) or embeds_for_a_forward(event.module.tree, root, event.node):
        return True
    return taken_off is not None and names_what_is_called(
        taken_off.module.tree, taken_off.node, root, WITHOUT_GRADIENTS
    )


def _is_dropped(event: ModelCalled) -> bool:
    from trl_lint.analysis.program.idioms.result_uses import is_dropped

    return is_dropped(event.owner.node if event.owner is not None else event.module.tree, event.node)
