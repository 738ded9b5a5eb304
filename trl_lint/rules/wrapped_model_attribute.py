"""An attribute is read from a wrapped model, which lacks it.

## What it does
Reports reading an attribute such as `.config` from a model wrapped in `DistributedDataParallel` or `DataParallel`: the
`model` that Trainer passes to `training_step`, `compute_loss` and `prediction_step`, `self.model_wrapped`, the result
of `accelerator.prepare`, `trainer.model` in hooks of a Lightning callback while it trains (`trainer.lightning_module`
and `pl_module` are bare), and everything these are passed to. It also reports

- a model that the code itself wraps, used as a sequence: `model[0]`, `len(model)`, `for layer in model:`;
- a wrapped model passed to a pipeline of Diffusers, which reads the model's `config`;
- `if hasattr(model, "x"): model.x()` without an alternative, or a function that starts with
  `if not hasattr(model, "x"): return`, for a model that the code itself wraps in `DistributedDataParallel`, if
  something in the project defines `x`: nothing fails, but the call never happens.

## Why is this bad?
The wrapper forwards calls, not attributes. On one GPU there is no wrapper and the code works. On two it fails with
`AttributeError: 'DistributedDataParallel' object has no attribute 'config'`. DeepSpeed is worse: its engine has a
`config` of its own, and the code continues with the wrong one.

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
All fixes are *safe*: they add no collective, and on one process the value is the same.

- `model.config.x` of the trained model is cached: `self.x = self.model.config.x` is inserted after the only
  `super().__init__(…)` of the class's own `__init__`, and the hook reads `self.x`. An existing attribute with the same
  value is reused. This requires that neither the project nor Trainer writes `config.x` (Trainer writes the special
  tokens and `use_cache`), and that every config has an `x` or each training step reads it.
- Elsewhere, plain data (`config`, `generation_config`, `peft_config`, `dtype`, `device`, `name_or_path`, and
  attributes of these) is read from `accelerator.unwrap_model(model)`. If the model does not change in a loop, its
  config is read once before the loop.
- It is a *hint*, with the reason, if the attribute is called (`disable_adapter`), is a module or parameter, is
  written, or may be a property of your own class; if no accelerator is available; and for pipelines and `hasattr`.

The fix never writes `model = model.module`, because a forward through the bare module does not synchronise gradients.

## Limits
These are correct and not reported:

- `self.model` of a `transformers.Trainer`, which is the bare model, unless the trainer assigns it from `prepare`;
- reads guarded by `hasattr` with an alternative, `getattr` with a default, or `except AttributeError`, or `except
  Exception`, unless that only shows the error and goes on with the next turn of a loop;
- attributes of `nn.Module` and of the wrapper, `_orig_mod` of `torch.compile`, attributes that the wrapping code sets
  on the wrapper (`model.hyp = hyp`) or on its class (`type(model).hyp = hyp`), and reads on one branch of a test whose
  other branch uses `.module`;
- `model.device`, which DDP has, unless the model is in DataParallel: the code itself wraps it so, or it is that of a
  `Trainer`, and all known launches start one process;
- `generate`, which is TRL010's;
- programs with a `Trainer` or an `Accelerator` that make one GPU visible (`os.environ["CUDA_VISIBLE_DEVICES"] = "0"`),
  if no launch in the project starts several processes.

If a setting decides whether the model is wrapped (`if args.distributed: model = DDP(model)`), reads are reported
unless the code has tested something that may concern that setting; in other functions any test counts.

FSDP and DeepSpeed forward attributes to the model, except that DeepSpeed has its own `config` (not reported where
`hasattr` checks what it has). So the rule is silent under a test for these engines, for attributes that only a
DeepSpeed engine has (`model.optimizer`), in files named after an engine (`train_zero3.py`), in functions that read
DeepSpeed's settings without a test (`state.deepspeed_plugin.zero_stage`), and in projects that only launch one of them
or whose setting `engines` names no other. If the project has no launches and its configurations are all for these
engines, or all programs of the file choose one in their code (`DeepSpeedPlugin(…)`), `--extend-select TRL002` reports
the finding.

For `prediction_step`, Trainer wraps the model in DataParallel only. If all known launches start several processes, only
`--extend-select TRL002` reports what it reads.

With `model_init`, the fix caches the value of the first model. Subclasses in other files that never call
`super().__init__` are not seen.

## References
- https://github.com/huggingface/trl/pull/3225 (OnlineDPO read `model.config` in its training step)
- https://pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.events import AttributeAsked, AttributeRead, PassedToPipeline
from trl_lint.domain.engines import HAND_ON_ATTRIBUTES, TrainingEngine
from trl_lint.domain.model_roles import is_data_parallel, is_evaluated, may_be_data_parallel
from trl_lint.findings import Consequence
from trl_lint.knowledge.engines import OF_ENGINE, OF_MODELS, UNIQUE
from trl_lint.knowledge.heuristics import NAMES_ENGINE
from trl_lint.knowledge.models import AS_SEQUENCE, COMPILED, GENERATES
from trl_lint.knowledge.torch_distributed import NOT_OF_DATA_PARALLEL
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import model_in, owner_of, said

_CACHED = "or cache what you need in `__init__` from the bare model"
_KEPT = "or read it before the model is wrapped"
_FORWARD = ", but never for a forward whose gradients are needed"
_ASKED = "the code does not show what should happen on several GPUs"
_HANDED = "the pipeline keeps the model, which may have to be the one that is trained"
_OF_ENGINES = OF_ENGINE | OF_MODELS | UNIQUE.keys()
# Attributes of a DeepSpeed engine itself; it takes all others from the model.
_ENGINE = {"config": ", another object under DeepSpeed (`engine.config`)"}


def _is_handed_on(event: AttributeRead, *, likely: bool = False) -> bool:
    """Whether the model is only wrapped by engines that have the attribute, or take it from the model.

    likely: as far as settings show that the project ships.
    """
    if is_data_parallel(event.model):
        return False  # wrapped by the code itself, whatever the engine of other models
    if event.attribute in _ENGINE and _is_engines_own(event):
        return True
    if event.attribute not in _ENGINE and (NAMES_ENGINE.fits(event.module.path.stem) or _is_for_deepspeed(event)):
        return True  # `train_zero3.py`
    engines = event.module.engines()
    are_only = engines.are_likely_only if likely else engines.are_only
    if not are_only(HAND_ON_ATTRIBUTES):
        return False
    return event.attribute not in _ENGINE or are_only({TrainingEngine.FSDP}) or _is_asked_first(event)


def _is_of_one_process(event: AttributeRead) -> bool:
    """Whether only DataParallel wraps the model, as the code does, or Trainer where known commands start one process
    and none starts several.
    """
    engines = event.module.engines()
    return is_data_parallel(event.model) or engines.one_process or engines.some_one_process


def _is_engines_own(event: AttributeRead) -> bool:
    """Whether code reads a setting of DeepSpeed, which the engine has and the model has not."""
    from trl_lint.analysis.program.idioms.deepspeed_settings import reads_setting

    return reads_setting(event.function.node if event.function is not None else event.module.tree, event.node)


def _is_for_deepspeed(event: AttributeRead) -> bool:
    """Whether a function around the read fails under any other engine, whatever attribute it reads."""
    from trl_lint.analysis.program.idioms.deepspeed_settings import needs_engine
    from trl_lint.analysis.program.syntax import definitions_around

    return any(map(needs_engine, definitions_around(event.module.tree, event.node)))


def _is_asked_first(event: AttributeRead) -> bool:
    """Whether code checks the attribute's value before use, so that another object does not make it fail."""
    from trl_lint.analysis.program.idioms.result_uses import is_checked_first

    return is_checked_first(event.function.node if event.function is not None else event.module.tree, event.node)


class WrappedModelAttribute(Rule[AttributeRead | AttributeAsked | PassedToPipeline]):
    code = "TRL002"
    name = "wrapped-model-attribute"
    consequences = (Consequence.CRASH, Consequence.WRONG_TRAINING)
    says_what_fails = True

    def fails_in_one_process(self, event: AttributeRead | AttributeAsked | PassedToPipeline) -> bool:
        return may_be_data_parallel(event.model)

    def check(self, event: AttributeRead | AttributeAsked | PassedToPipeline) -> Iterator[Violation]:
        if event.module.sees_one_gpu:
            return
        if isinstance(event, PassedToPipeline):
            if not event.module.engines().are_only(HAND_ON_ATTRIBUTES):
                yield _passed_to_pipeline(event)
            return
        if isinstance(event, AttributeAsked):
            if event.attribute not in _OF_ENGINES:
                yield _asked(event)
            return
        name = event.attribute
        if name in (*GENERATES, COMPILED) or name in _OF_ENGINES or _is_handed_on(event):
            return
        if name in NOT_OF_DATA_PARALLEL and not _is_of_one_process(event):
            return
        if name in AS_SEQUENCE:
            yield _used_as_sequence(event)
            return
        model = owner_of(event)
        bare = said("unwrap", event, model=model, what=f"{name}(...)" if event.called else name)
        verb = "called on" if event.called else "read from"
        evaluated = is_evaluated(event.model)
        in_one = evaluated or name in NOT_OF_DATA_PARALLEL
        where = f"{'' if in_one else 'DDP and '}DataParallel{_ENGINE.get(name, '')}"
        is_caught = _is_caught(event)
        is_left_out = _is_handed_on(event, likely=True) or (evaluated and event.module.engines().always_several)
        yield Violation(
            event=event,
            message=f"`.{name}` is {verb} `{model}`, a wrapped model: AttributeError under {where}{_CAUGHT[is_caught]}",
            provenance=event.model.provenance,
            help=_help(event, bare),
            consequence=Consequence.WRONG_TRAINING if is_caught else None,
            by_default=False if is_left_out else None,
            in_doubt=evaluated,  # what is also read in a training fails under DDP as well
            # Calls are mended alike, by one bare model; each attribute that is read has a fix of its own.
            cause=(id(event.function), event.module.path, model, event.called or name),
        )


def _is_caught(event: AttributeRead) -> bool:
    """Whether the loop around catches the error and goes on, so that nothing fails."""
    from trl_lint.analysis.program.idioms.handled_errors import is_caught

    root = event.function.node if event.function is not None else event.module.tree
    return is_caught(root, event.node, ("BaseException", "Exception"))


_CAUGHT = {False: "", True: ", which is caught, so that each turn of the loop is skipped"}


def _help(event: AttributeRead, bare: str) -> str:
    """How to get the attribute. bare: the expression that reads it from the bare model."""
    if event.called:
        return f"call it on the bare model ({bare}){_FORWARD if _has_result(event) else ''}"
    in_class = event.function is not None and event.function.cls is not None
    return f"unwrap it first ({bare}), {_CACHED if in_class else _KEPT}"


def _has_result(event: AttributeRead) -> bool:
    """Whether the result of a call is used, so that it may be a loss."""
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
            f"`hasattr` looks for `{event.attribute}` on `{model}`, a wrapped model: DDP does not have it, "
            "so that on several GPUs the code that depends on it is silently skipped"
        ),
        provenance=event.model.provenance,
        help=f"ask the bare model ({bare}), and use its attribute",
        by_hand=_ASKED,
        consequence=Consequence.WRONG_TRAINING,
    )


def _used_as_sequence(event: AttributeRead) -> Violation:
    model = model_in(event.module, event.node)
    bare = said("bare", event, model=model)
    return Violation(
        event=event,
        message=f"a wrapped model, `{model}`, is {AS_SEQUENCE[event.attribute]}: TypeError under DDP and DataParallel",
        provenance=event.model.provenance,
        help=f"use the bare model ({bare}){_FORWARD}",
    )


def _passed_to_pipeline(event: PassedToPipeline) -> Violation:
    what = f"the `{event.name}` of a pipeline" if event.name else "an argument of a pipeline"
    return Violation(
        event=event,
        site=Site(event.module, event.argument, event.function),
        message=f"{what} is a wrapped model: the pipeline reads its `config`, which fails under DDP and DataParallel",
        provenance=event.model.provenance,
        help=f"pass the bare model ({said('bare', event, model=model_in(event.module, event.argument.value))})",
        by_hand=_HANDED,
    )
