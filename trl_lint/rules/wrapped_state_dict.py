"""A wrapper's weights are loaded into the bare model.

## What it does
Reports `load_state_dict` of a bare model with the state dict of one in `DistributedDataParallel` or `DataParallel`. It
also reports the other way round: a wrapped model that loads the state dict of a bare one. The state dict may be a copy
(`copy.deepcopy`, `{k: v.cpu() for k, v in state.items()}`), an item of a dict, or an attribute. It may also be read
from a file to which the same program saves it: `torch.save({"model": model.state_dict()}, path)` of the wrapper, and
`model.load_state_dict(torch.load(path)["model"])` before the model is wrapped.

## Why is this bad?
The wrapper holds the model as its `module`, so that each name in its state dict begins with `module.`. Those of the
bare model do not. On one process there is no wrapper, and the code works. On several it fails with
`RuntimeError: Error(s) in loading state_dict: Missing key(s) in state_dict`. With `strict=False` it is worse: no name
fits, nothing is loaded, and nothing is said.

## Example
```python
model = DistributedDataParallel(net)
best = copy.deepcopy(model.state_dict())
...
model.module.load_state_dict(best)
```

## Use instead
```python
model = DistributedDataParallel(net)
best = copy.deepcopy(model.module.state_dict())
...
model.module.load_state_dict(best)
```

Checkpoints without the prefix can be loaded by programs that wrap nothing, such as those for inference.

## Fix safety
- The load of the module inside a wrapper is made that of the wrapper (`model.load_state_dict(best)`) if the state dict
  is surely that of a wrapper. This is *safe*: the same weights get the same values.
- The load of a wrapper is made that of the module in it (`model.module.load_state_dict(best)`, or
  `accelerator.unwrap_model(model).load_state_dict(best)`). The first is *safe*, too.
- If the code does not show that the model is always wrapped, as in `model = DDP(net) if world_size > 1 else net`, the
  module is `getattr(model, "module", model)`, which is right on one process, too. This is *unsafe*, as another model
  may have a part of that name.
- Where the wrapper loads weights that come from a file, or are left out silently (`strict=False`), it is *unsafe*; so
  is `unwrap_model`, as under FSDP the wrapper itself has to load them.
- It is a *hint* if a condition decides whether the model is wrapped, if the fix would change what files contain, and
  for state dicts that are taken elsewhere.

## Limits
Nothing is reported of a state dict of which something is not known. So these are silent: an entry of it is written or
removed, its names are read, or something unknown gets it (`strip_prefix(state)`); the function names the prefix
(`"module."`); the load is in a `try` that catches the error; the model has a `state_dict` or a `load_state_dict` of its
own, hooks for these, or a part named `module`; FSDP, whose state dicts have no such prefix, and DeepSpeed; unit tests.

If a condition decides whether the model is wrapped (`if distributed: model = DDP(model)`), a state dict of it is one or
the other. It is reported where it does not fit in a run with the wrapper.

## References
- https://github.com/emgun/universal_simulator/commit/a2691182f8936819947e9337dd19f993b3ab0c39 (the best weights were
  copied from the wrapper, and loaded into the inner model)
- https://github.com/lopuhin/transformer-lm/commit/233acdfeaaf104232f276519d7a4a41628c3b6ec (saved from the wrapper,
  loaded before the model is wrapped)
- https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
- https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html (`load_state_dict`)
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.checkpoint_events import StateLoaded
from trl_lint.domain.engines import HAND_ON_ATTRIBUTES
from trl_lint.domain.model_roles import is_wrapped_by_code
from trl_lint.domain.values import WRAPPED_ON_SOME_WAY
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation
from trl_lint.wording import model_in, said

# What is wrong, if the model that loads the weights is wrapped, and if it is not.
_OF_STATE = {
    True: "the state dict of a bare model is loaded into `{model}`, a wrapped one: under DDP and DataParallel its "
    "names begin with `module.`",
    False: "the state dict of a wrapped model is loaded into `{model}`, which is bare: under DDP and DataParallel the "
    "names in it begin with `module.`",
}
_OF_FILE = {
    True: "`{model}`, a wrapped model, loads weights that are saved from a bare one: under DDP and DataParallel its "
    "names begin with `module.`",
    False: "`{model}`, a bare model, loads weights that are saved from a wrapped one: under DDP and DataParallel the "
    "names in them begin with `module.`",
}
_FAILS = "so that it fails with `Missing key(s) in state_dict`"
_LOADS_NOTHING = "so that with `strict=False` nothing is loaded, and nothing is said"


class WrappedStateDict(Rule[StateLoaded]):
    code = "TRL025"
    name = "wrapped-state-dict"
    consequences = (Consequence.CRASH, Consequence.WRONG_TRAINING)
    preview = True

    def check(self, event: StateLoaded) -> Iterator[Violation]:
        model = model_in(event.module, getattr(event.node.func, "value", None))
        if _is_without_prefix(event) or event.module.sees_one_gpu:
            return
        into_wrapper = event.model.wrapping in WRAPPED_ON_SOME_WAY
        said_of = _OF_FILE if event.read is not None else _OF_STATE
        result = _FAILS if event.strict else _LOADS_NOTHING
        bare = said("bare", event, model=model)
        yield Violation(
            event=event,
            message=f"{said_of[into_wrapper].format(model=model)}, {result}",
            provenance=event.state.provenance,
            help=_help(event, into_wrapper, bare),
            consequence=None if event.strict else Consequence.WRONG_TRAINING,
        )


def _help(event: StateLoaded, into_wrapper: bool, bare: str) -> str:
    if into_wrapper:
        return f"load it into the bare model ({bare})"
    if event.read is None:
        return "take the state dict of the bare model, or load it into the wrapped one"
    return "save the state dict of the bare model, or load it once the model is wrapped"


def _is_without_prefix(event: StateLoaded) -> bool:
    """Whether the project only runs under engines whose wrappers add no prefix, unless the code wraps by itself."""
    by_code = event.taken.by_code or is_wrapped_by_code(event.model)
    return not by_code and event.module.engines().are_only(HAND_ON_ATTRIBUTES)
