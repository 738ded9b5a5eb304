"""An attribute is read from a wrapped model, which does not have it.

## What it does
Reports the read of an attribute such as `.config` from a model that `DistributedDataParallel` or
`DataParallel` wraps: the `model` that Trainer hands to `training_step`, `compute_loss` and
`prediction_step`, `self.model_wrapped`, what `accelerator.prepare` returned, and whatever these are
handed on to. A pipeline of Diffusers that is made with such a model is reported as well: it reads the
model's `config`. So is `if hasattr(model, "x"): model.x()` of a model that code wraps in
`DistributedDataParallel` itself, where something in sight defines an `x` and nothing is done instead: that raises
nothing, and is never done.

## Why is this bad?
The wrapper forwards calls, not attributes. On one GPU there is no wrapper and the code works; on two it
dies with `AttributeError: 'DistributedDataParallel' object has no attribute 'config'`. Under DeepSpeed
`config` is worse: the engine has one of its own, and the code goes on with the wrong one.

## Example
```python
def training_step(self, model, inputs, num_items_in_batch=None):
    if model.config.is_encoder_decoder:
        ...
```

## Use instead
```python
def __init__(self, model, *args, **kwargs):
    super().__init__(model, *args, **kwargs)
    self.is_encoder_decoder = self.model.config.is_encoder_decoder

def training_step(self, model, inputs, num_items_in_batch=None):
    if self.is_encoder_decoder:
        ...
```

## Fix safety
Every fix is safe: it adds no collective, and on one process the value is the same as before.

- A plain `model.config.x` of the model that is trained is cached: `self.x = self.model.config.x` goes right
  behind the one `super().__init__(…)` of the class's own `__init__`, and the hook reads `self.x`. An
  attribute that `__init__` takes from the same place already is used instead; a name that is taken gets
  another. That is done only where nothing in sight writes `config.x`, Trainer itself does not either (it
  does write the special tokens and `use_cache`), and either every config has an `x` or each training step
  reads it.
- In all other places plain data (`config`, `generation_config`, `peft_config`, `dtype`, `device`,
  `name_or_path`, and what follows them) is read from `accelerator.unwrap_model(model)`; the config of a
  model that stays the same in a loop is bound once, before the loop.
- It is a hint, with the reason, where the attribute is called (`disable_adapter`), is a module
  or a parameter, is written, or may be anything, as a property of a class of your own; and where no
  accelerator is in reach.

`model = model.module` is never written: a forward through the bare module no longer synchronises the
gradients.

- A pipeline of Diffusers that is made with a wrapped model is a hint, and so is a test with `hasattr`.

## Limits
`self.model` of a `transformers.Trainer` is the bare model and right; in a trainer that assigns it from `prepare` it is
the wrapper. Reads guarded by `hasattr` where something is done instead, `getattr` with a default or `except
AttributeError` are right, and so are the attributes of `nn.Module` and of the wrapper itself, `_orig_mod` of
`torch.compile`, attributes that the code that wraps the model puts on the wrapper (`model.hyp = hyp`), and reads on one
way out of a test whose other way takes the model's `.module`. `generate` on a wrapped model is TRL010's. A model that
is wrapped where a setting says so (`if args.distributed: model = DDP(model)`) is asked about, too, but not where code
has tested anything that may be about that setting, in another function or method where it has tested anything at all.
FSDP and DeepSpeed hand attributes on (but for `config`, of which DeepSpeed has its own, where nothing asks with
`hasattr` what it has): code under a test for them is silent, so is what only an engine of DeepSpeed has
(`model.optimizer`), a file that is called after an engine (`train_zero3.py`), and a project whose launch commands all
start one of them, or whose setting `engines` names no other. Where no launch is in sight and all settings that the
project ships are for these engines, `--extend-select TRL002` reports it. With `model_init`, what is cached is that of
the first model that was made. Subclasses in other files that never call `super().__init__` are not seen.

## References
- https://github.com/huggingface/trl/pull/3225 (OnlineDPO read `model.config` in its training step)
- https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import AttributeAsked, AttributeRead, HandedToPipeline
from trl_lint.domain.engines import HAND_ON_ATTRIBUTES, TrainingEngine
from trl_lint.domain.model_roles import is_data_parallel, may_be_data_parallel
from trl_lint.findings import Consequence
from trl_lint.knowledge.engines import OF_ENGINE, OF_MODELS, UNIQUE
from trl_lint.knowledge.heuristics import NAMES_ENGINE
from trl_lint.knowledge.models import COMPILED, GENERATES
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import model_in, owner_of, said

_CACHED = "or cache what you need in `__init__` from the bare model"
_KEPT = "or read it before the model is wrapped"
_FORWARD = ", but never for a forward whose gradients are needed"
_ASKED = "whether the model has it, and what is to be done on several GPUs, is the author's to say"
_HANDED = "the pipeline keeps the model: whether it is to be the very one that is trained is the author's to say"
_OF_ENGINES = OF_ENGINE | OF_MODELS | UNIQUE.keys()
# What a DeepSpeed engine has of its own; all other attributes it takes from the model.
_ENGINE = {"config": ", another object under DeepSpeed (`engine.config`)"}


def _is_handed_on(event: AttributeRead, *, likely: bool = False) -> bool:
    """Whether the model is wrapped in engines only that have the attribute, or take it from the model.

    likely: as far as settings say that the project ships.
    """
    if is_data_parallel(event.model):
        return False  # by the code itself, under whatever engine others are run
    if event.attribute not in _ENGINE and NAMES_ENGINE.fits(event.module.path.stem):
        return True  # `train_zero3.py`
    engines = event.module.engines()
    are_only = engines.are_likely_only if likely else engines.are_only
    if not are_only(HAND_ON_ATTRIBUTES):
        return False
    return event.attribute not in _ENGINE or are_only({TrainingEngine.FSDP}) or _is_asked_first(event)


def _is_asked_first(event: AttributeRead) -> bool:
    """Whether code asks what the attribute's value has: another object is none that it fails on."""
    from trl_lint.analysis.program.idioms.result_uses import is_asked_first

    return is_asked_first(event.owner.node if event.owner is not None else event.module.tree, event.node)


class WrappedModelAttribute(Rule[AttributeRead | AttributeAsked | HandedToPipeline]):
    code = "TRL002"
    name = "wrapped-model-attribute"
    consequences = (Consequence.CRASH, Consequence.WRONG_TRAINING)

    def fails_in_one_process(self, event: AttributeRead | AttributeAsked | HandedToPipeline) -> bool:
        return may_be_data_parallel(event.model)

    def check(self, event: AttributeRead | AttributeAsked | HandedToPipeline) -> Iterator[Violation]:
        if isinstance(event, HandedToPipeline):
            if not event.module.engines().are_only(HAND_ON_ATTRIBUTES):
                yield _handed(event)
            return
        if isinstance(event, AttributeAsked):
            if event.attribute not in _OF_ENGINES:
                yield _asked(event)
            return
        name = event.attribute
        if name in (*GENERATES, COMPILED) or name in _OF_ENGINES or _is_handed_on(event):
            return
        model = owner_of(event)
        bare = said("unwrap", event, model=model, what=f"{name}(...)" if event.called else name)
        verb = "called on" if event.called else "read from"
        yield Violation(
            event=event,
            message=(
                f"`.{name}` is {verb} `{model}`, a wrapped model: "
                f"AttributeError under DDP and DataParallel{_ENGINE.get(name, '')}"
            ),
            provenance=event.model.why,
            help=_help(event, bare),
            by_default=False if _is_handed_on(event, likely=True) else None,
        )


def _help(event: AttributeRead, bare: str) -> str:
    """How to get at it. bare: how it is read from the bare model."""
    if event.called:
        return f"call it on the bare model ({bare}){_FORWARD if _has_result(event) else ''}"
    in_class = event.owner is not None and event.owner.cls is not None
    return f"unwrap it first ({bare}), {_CACHED if in_class else _KEPT}"


def _has_result(event: AttributeRead) -> bool:
    """Whether something is done with what a call returns, so that it may be a loss."""
    from libcst import Call, Expr

    from trl_lint.analysis.program.syntax import ancestors

    match ancestors(event.module.tree, event.node)[-2:]:
        case (Expr(), Call()):
            return False
    return True


def _asked(event: AttributeAsked) -> Violation:
    model = model_in(event.module, event.node.args[0].value)
    bare = said("bare", event, model=model)
    return Violation(
        event=event,
        message=(
            f"`hasattr` asks `{model}`, a wrapped model, for `{event.attribute}`: DDP has none, "
            "so that on several GPUs what depends on it is silently left out"
        ),
        provenance=event.model.why,
        help=f"ask the bare model ({bare}), and take it from there",
        by_hand=_ASKED,
        consequence=Consequence.WRONG_TRAINING,
    )


def _handed(event: HandedToPipeline) -> Violation:
    what = f"the `{event.name}` of a pipeline" if event.name else "what a pipeline is made with"
    return Violation(
        event=event,
        site=Site(event.module, event.argument, event.owner),
        message=f"{what} is a wrapped model: it fails under DDP and DataParallel, as it reads the model's `config`",
        provenance=event.model.why,
        help=f"hand over the bare model ({said('bare', event, model=model_in(event.module, event.argument.value))})",
        by_hand=_HANDED,
    )
