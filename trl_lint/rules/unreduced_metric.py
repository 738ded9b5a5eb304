"""A metric of one rank is logged as if it covered all ranks.

## What it does
Reports a value that is computed from this rank's own data and reaches a log (`Trainer.log`, `accelerator.log`, wandb,
TensorBoard, MLflow, trackio, a trainer's metric store) without a reduction over the ranks. Its own data are the batches
of its share, and rows that it takes by hand (`rows[rank::world_size]`, `if i % world_size == rank:`, the tokens from a
place that depends on the rank). A metric of `evaluate` only counts the samples of its own process. Means, ratios and
`evaluate` metrics of an evaluation (gradients are off, or a wrapped model is in evaluation mode) are also reported
where they are printed or written to a file by hand, as scripts without a tracker do, and where they are passed to a
helper that does so (`print0(f"loss {loss}")`).

## Why is this bad?
Trackers show what the main process logs, or what each process logs, side by side. On eight GPUs that is the loss,
accuracy or reward of one eighth of the batch. The curves look plausible, are noisier than they should be, and are
wrong. Nothing fails.

## Example
```python
metrics["rewards/chosen"] = chosen_rewards.mean().cpu()
self.store_metrics(metrics)
```

## Use instead
```python
metrics["rewards/chosen"] = self.accelerator.gather(chosen_rewards.mean()).mean().cpu()
self.store_metrics(metrics)
```

## Fix safety
The value is gathered after its reduction, and the reduction is repeated: each rank sends one element, and the value on
one process is the same. Later steps (`.cpu()`, `.item()`, division by a constant) stay, and what NumPy reduces
(`x.cpu().numpy().mean()`) is reduced before it leaves the device. `sum`, `mean`, `nanmean`, `max` and `min` can be
repeated. For `(x * m).sum() / m.sum()`, both sums are added up over the ranks and divided once. Consecutive statements
that log the same value share one reduction. If a name already has the value of all ranks, as after
`mean_loss = accelerator.gather(loss).mean()`, that is logged instead.

In a `LightningModule`, `sync_dist=True` is added to the call of `log` or `log_dict`: Lightning then averages the ranks'
values. With `rank_zero_only=True` it does not, whatever `sync_dist` is: the one then replaces the other, which is
*unsafe* because the first rank's value may be meant.

- *Safe* if every rank is known to get there together.
- *Unsafe* if that is not known, if a Python number (`len(batch)`) becomes a tensor, or if a tensor with a gradient is
  kept in a dict that is used elsewhere (a gathered tensor has no gradient). Also unsafe under a condition on the rank
  (`if accelerator.is_main_process:`, `if accelerator.trackers:`): the value is then gathered before the outermost such
  condition, in every iteration, or where it is computed if it is only logged or stored. A condition that also tests
  what is the same on all ranks (`step % 10 == 0`) around a few lines is split, and the value gathered in between.
- A *hint* for deviations, medians, quantiles and combinations of several reductions; if the value is also used
  elsewhere, or is a plain number on some path to the log (`else: loss = 0`); if more than the rank decides who logs, or
  only those who log set the value anew afterwards (`self.total = 0`); if `log` of a `LightningModule` gets `**kwargs`,
  or `rank_zero_only` that can't be replaced, or is in a helper that may run in training as well; in lambdas,
  comprehensions, compiled functions and the `forward` of a module; and without an `Accelerator`.

## Limits
What a `LightningModule` logs for the whole validation, without `sync_dist=True` or past `self.log` with the loggers of
its trainer (`self.logger.experiment.log(…)`, `self.logger.log_metrics(…)`), is in the default set only in files that
show that they are for several processes, or whose base classes' files do, or if a program that runs it names a
strategy like `"ddp"`: Lightning also trains on one. Nor is it in a project whose programs do other things, and where
nothing runs Lightning's `Trainer` or `LightningCLI`, or where only programs that do not run them make objects of its
class; nor if all Trainers that may run it have `limit_val_batches=0`, or no data to validate on. What it logs in its
training steps is that of a batch, as noisy on one rank as on all of them, and not reported. What it logs of a whole
epoch of training (`on_epoch=True`, or at its end) and of a test, which Lightning advises to run on one device, is not
in the default set. If all trainers that run it have `use_distributed_sampler=False`, each process may have all of the
data: nothing is reported, unless a program names a `DistributedSampler`, or a file that it imports one, or
`num_replicas`, and has no `val_dataloader` without a sampler.

The plain loss in a loop with its own backward pass is not in the default set, because logging it from one rank is
common and does little harm. `--extend-select TRL003` reports it. Such a loss is recognised in the text of the
function, so one that a helper returns is reported by default. Nor is a value in the default set if the same function,
or one that returns it or passes it on to the log, has reduced something of it before, in place or under its own name,
in a way that is not understood, or only under a condition; or if all that its function does with the dict that it is
put into is to have another one reduce it so. Whoever writes that has thought of the ranks. Such a value is not named
beside others of the same statement that are in the default set.

Values are followed through local variables, containers, attributes, methods and helpers in the project. A value that
comes from, or is passed to, other code is unknown and not reported. These are correct and not reported: timings, memory
figures, learning rates, counters that all ranks share, FLOPs and numbers of parameters, how many rows a batch that
Lightning shares out has, or how many rewards a Trainer's batch gets, what `Trainer` and torchmetrics reduce themselves
(a metric that is logged, and its `compute()`, but not what a call of it in a `LightningModule` returns for a batch), a
metric store whose `log` reduces it, values printed or written during training, values printed next to the rank, in a
file of each rank or logged under a name that contains it (`rank0/loss`, `tokens_per_device`) or to a wandb run that
each process has for itself as one of a `group`, what only the processes beside the first one log (`if rank != 0:`), and
models loaded with `device_map="auto"`, which one process trains.
Of a file, the path must be the same on all ranks, or only some of them write to it. A metric that is shown in several
ways is reported once in each function that prints it, and not again for a helper or a file.

## References
- https://github.com/huggingface/trl/pull/2474 (DPO, CPO and ORPO logged the metrics of rank 0)
- https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.gather
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from trl_lint.analysis.events import Logged, MetricShown
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.provenance import Step
from trl_lint.domain.ranks import METRIC, Origin, Rank
from trl_lint.domain.values import Kind
from trl_lint.findings import Consequence
from trl_lint.knowledge.effects import LOGS_TO_ANY_RUN
from trl_lint.knowledge.heuristics import COST_OF_MODEL, METRIC_OF_ONE_RANK
from trl_lint.knowledge.library import keeps_from_reducing, reduces, shown_only_in
from trl_lint.knowledge.lightning import KNOWS_PROCESSES, STEPS, is_of_fabric
from trl_lint.knowledge.loggers import SHOWS_OF_FIRST, WRITTEN_BY_EACH
from trl_lint.rules.base import Rule, Site, Violation
from trl_lint.wording import said
from trl_lint.wording.shown_code import shown_source

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.analysis.program.idioms.near_reductions import Caller
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.domain.values import Value, Write

# The number of metrics that a message names.
_LISTED = 5
_LOGGED_HERE = "it is logged here"
_FIRST = "over the ranks first"
# The calls that write to a log of each process that makes them.
_OPEN_TO_EACH = WRITTEN_BY_EACH | LOGS_TO_ANY_RUN
# Why a condition differs between ranks, none of which says which of them is meant.
_OF_NO_RANK = Origin.CLOCK | Origin.DATA | Origin.IO | Origin.RNG | Origin.ROOT
# The placeholder for the unknown part of a metric's name.
_UNKNOWN = "…"


class UnreducedMetric(Rule[Logged | MetricShown]):
    code = "TRL003"
    name = "unreduced-metric"
    consequences = (Consequence.WRONG_NUMBER,)

    def check(self, event: Logged | MetricShown) -> Iterator[Violation]:
        if event.module.one_process:
            return
        if isinstance(event, MetricShown):
            if not COST_OF_MODEL.fits(event.what):
                yield _shown(event)
        else:
            yield from self._logged(event)

    def _logged(self, event: Logged) -> Iterator[Violation]:
        if not event.value.rank.is_of_own_data or _is_of_one_rank(event) or _is_of_one_step(event):
            return
        # Sets have no order, but the message must not differ between runs.
        for write in sorted(event.writes, key=lambda each: (str(each.module.path), each.name)):
            # Of several parts, what is computed from them has the name.
            what = (event.what if len(event.writes) > 1 else "") or write.name or event.what
            if write.rank.is_of_own_data and not COST_OF_MODEL.fits(what):
                is_minor = _does_little_harm(event, write) or _may_be_of_one_process(event)
                in_doubt = not is_minor and _may_be_reduced(event, write)
                # A call that can reduce what it logs is the place to mend, wherever its metrics are from.
                site = None if reduces(event.sink) else Site(write.module, write.node, _function(event, write))
                yield Violation(
                    event=replace(event, writes=frozenset({write})),
                    site=site,
                    message=_message([each for each in (what or _name_of(event, write),) if each], event),
                    provenance=_chain(event, write),
                    help=_help(event, write),
                    metric=what,
                    by_default=False if is_minor or in_doubt else None,
                    in_doubt=in_doubt,
                )

    def message_for(self, violation: Violation, metrics: Sequence[str]) -> str:
        assert isinstance(violation.event, (Logged, MetricShown))
        return _message(metrics, violation.event)


def _name_of(event: Logged, write: Write) -> str:
    """The variable whose value is logged, of `loss`, `loss.item()`; "" if it is another expression.

    For the variable of a comprehension, what that runs over: `losses` of `{k: v.item() for k, v in losses.items()}`.
    """
    from libcst import Attribute, Call, Name

    from trl_lint.analysis.program.idioms.mappings import comprehended

    node = None if write.payload is None else write.payload.expression
    while isinstance(node, Call) and isinstance(node.func, Attribute) and not node.args:
        node = node.func.value
    if not isinstance(node, Name):
        return ""
    function = _function(event, write)
    walked = comprehended(cast("Module", write.module).tree if function is None else function.node, node)
    return node.value if walked is None else walked


def _chain(event: Logged, write: Write) -> Step | None:
    """Where the metric comes from and, if another function logs it, where it is logged."""
    found = write.provenance or event.value.provenance
    if write.module is event.module and _function(event, write) is event.function:
        return found
    return found if reduces(event.sink) else Step(event.module, event.node, _LOGGED_HERE, found)


def _shown(event: MetricShown) -> Violation:
    from trl_lint.analysis.program.idioms.near_reductions import Caller, may_be_reduced
    from trl_lint.analysis.transfer.processes.near_callees import called

    in_doubt = may_be_reduced(Caller(event.module, event.function), event.node, called)
    return Violation(
        event=event,
        message=_message([event.what] if event.what else [], event),
        provenance=event.value.provenance,
        help=_gathering(event, event.value, event.value.rank, _FIRST if event.value.rank.how else ""),
        metric=event.what,
        by_hand="it is only shown here; the values that it is computed from have to be gathered first",
        by_default=False if in_doubt else None,
        in_doubt=in_doubt,
    )


def _message(metrics: Sequence[str], event: Logged | MetricShown) -> str:
    """The message on some metrics of one statement. One of them may have no name."""
    from libcst import FunctionDef

    metrics = _most_known(metrics)
    listed = ", ".join(f"`{name}`" for name in metrics[:_LISTED]) + ", …" * (len(metrics) > _LISTED)
    are, reach, values = ("are", "reach", "values") if len(metrics) > 1 else ("is", "reaches", "value")
    # The hook whose result is logged, if it is one; otherwise a call, or a class whose base logs what is stored in it.
    hook = event.node.name.value if isinstance(event.node, FunctionDef) else ""
    shown = f"{are} returned by `{hook}`" if hook else f"{reach} `{_short(event.sink)}`"
    return (
        f"{listed or 'this value'} {are} computed from this rank's own data and {shown} unreduced: "
        f"on several GPUs {_outcome(event, values, are)}"
    )


def _most_known(metrics: Sequence[str]) -> list[str]:
    """Names of metrics, without those of which nothing is known, and without those of unknown start that may be one of
    the others: `…loss` beside `eval_loss`.
    """
    metrics = [each for each in metrics if each.strip(f"{_UNKNOWN}/")]
    known = tuple(each for each in metrics if not each.startswith(_UNKNOWN))
    return [each for each in metrics if each in known or not any(name.endswith(each[1:]) for name in known)]


def _outcome(event: Logged | MetricShown, values: str, are: str) -> str:
    if not isinstance(event, MetricShown):
        if event.by_each:
            return f"each process logs its own {values}"
        # What keeps the other ranks away, if anything does, is out of sight.
        is_open = event.sink in _OPEN_TO_EACH and not (event.by_some or _is_for_some_ranks(event.control))
        return (
            f"each log shows only one process's {values}"
            if is_open
            else f"the log shows only the main process's {values}"
        )
    on_some = event.of_main or _is_for_some_ranks(event.control) or event.sink in SHOWS_OF_FIRST
    does, done = ("writes", "written") if event.in_file else ("shows", "shown")
    return f"only the main process's {values} {are} {done}" if on_some else f"each process {does} its own {values}"


def _is_for_some_ranks(control: Control) -> bool:
    """Whether the rank decides who gets to a point, not a condition on each rank's own data, clock or disk alone."""
    divergent = (each.rank.origins for each in control.conditions if each.uniformity is Uniformity.DIVERGENT)
    return any(not origins or bool(origins & ~_OF_NO_RANK) for origins in divergent)


def _is_of_one_rank(event: Logged) -> bool:
    """Whether its name is that of the metric of one rank: `rank0/loss`.

    If the start of a name is unknown, other names in the function show whether it may be one.
    """
    if any(map(METRIC_OF_ONE_RANK.fits, (event.what, *(write.name for write in event.writes)))):
        return True
    if not event.what.startswith(_UNKNOWN):
        return False
    from libcst import SimpleString

    from trl_lint.analysis.program.syntax import of_class

    code = event.module.tree if event.function is None else event.function.node
    return any(METRIC_OF_ONE_RANK.fits(each.value) for each in of_class(code, SimpleString))


def _is_of_one_step(event: Logged) -> bool:
    """Whether a library would reduce it, but only one rank runs the step of a module in which it is computed.

    Then there is nothing to reduce, and that rank would wait for the others in the reduction.
    """
    if not reduces(event.sink):
        return False
    from libcst import FunctionDef

    by = (each.provenance.node for each in event.control.conditions if each.rank.differs)
    return any(isinstance(each, FunctionDef) and each.name.value in STEPS for each in by)


def _may_be_reduced(event: Logged, write: Write) -> bool:
    """Whether a function that logs the value, stores it, passes it on or returns it reduces something of it before.

    Or if the one that stores it in a container only has that reduced.
    """
    from trl_lint.analysis.program.idioms.near_reductions import Caller, is_reduced_after, may_be_reduced
    from trl_lint.analysis.program.syntax import ancestors
    from trl_lint.analysis.transfer.processes.near_callees import called

    stored = write.node if write.payload is None else write.payload.expression
    writer = Caller(cast("Module", write.module), _function(event, write))
    parts = _parts_with(event.node, write.name)
    places = [(writer, each) for each in (parts if stored is event.node else [stored])]
    # The call that logs it may log other metrics, which are reduced.
    if not ancestors(event.node, stored):
        places.extend((Caller(event.module, event.function), each) for each in parts)
    places.extend(_passed_on(event, write, stored))
    if is_reduced_after(writer, stored, called):
        return True
    return any(may_be_reduced(caller, node, called) for caller, node in places)


def _parts_with(node: CSTNode, name: str) -> list[CSTNode]:
    """The parts of a call in which a metric that is stored elsewhere comes to the log.

    `**scores`, and not `total`, of `log({**scores, "train_loss": total})`, if it is not called `train_loss`.
    """
    from libcst import Call, Dict, DictElement, SimpleString, StarredDictElement

    for shown in (each.value for each in (node.args if isinstance(node, Call) else ())):
        if isinstance(shown, Dict) and any(isinstance(each, StarredDictElement) for each in shown.elements):
            return [
                each.value
                for each in shown.elements
                if not isinstance(each, DictElement)
                or not isinstance(each.key, SimpleString)
                or each.key.evaluated_value == name
            ]
    return [node]


def _passed_on(event: Logged, write: Write, stored: CSTNode) -> Iterator[tuple[Caller, CSTNode]]:
    """The calls in the file of a value by which it may come to the function that logs it.

    If it is written in one of them, that is the one: `log({"accuracy": hits / total})`. There are none if the function
    gets it from an attribute.
    """
    from libcst import Call

    from trl_lint.analysis.program.idioms.near_reductions import Caller, is_kept_for
    from trl_lint.analysis.program.syntax import ancestors, definitions_around, last_name, of_class

    logs, module = event.function, cast("Module", write.module)
    writer = Caller(module, _function(event, write))
    if logs is None or writer.function is logs or is_kept_for(writer, stored, Caller(event.module, logs)):
        return
    methods = (each for cls in module.classes for each in cls.methods.values())
    functions = {id(each.node): each for each in (*module.functions, *methods)}
    calls = [each for each in of_class(module.tree, Call) if last_name(each.func) == logs.name and each.args]
    around_it = ancestors(module.tree, stored)
    for call in [each for each in calls if each in around_it] or calls:
        around = definitions_around(module.tree, call)
        yield Caller(module, functions.get(id(around[-1])) if around else None), call


def _does_little_harm(event: Logged, write: Write) -> bool:
    """Whether nothing is chosen by it: a library shows it of a training or a test, or it is the loss of a loop."""
    return event.evaluates is False or _is_training_loss(event, write)


def _is_training_loss(event: Logged, write: Write) -> bool:
    """Whether it is the loss of a loop: usually that of one rank is logged, which is as noisy as that of a batch."""
    payload = write.payload
    if payload is None:
        return False
    from trl_lint.analysis.program.idioms.training_loss import is_training_loss

    function = payload.function
    return is_training_loss(event.module.tree if function is None else function.node, payload.expression)


def _may_be_of_one_process(event: Logged) -> bool:
    """Whether a library runs what logs the metric, and nothing says that it is for several processes.

    The file may say so, those of the classes that the one around it inherits from, and the programs that have the
    library run it.
    """
    if not shown_only_in(event.sink)[0]:
        return False
    engines = event.module.engines()
    if not engines.lightning or engines.lightning_several:
        return not engines.lightning
    cls = None if event.function is None else event.function.cls
    modules = [event.module, *(each.module for each in (() if cls is None else cls.project_lineage()))]
    return not any(each.mentions(KNOWS_PROCESSES) for each in modules)


def _short(sink: str) -> str:
    """The last two of its names; other code as it is: a point in `Path("a.json").write_text` may be part of a text."""
    is_dotted = all(each.isidentifier() for each in sink.split("."))
    return ".".join(sink.split(".")[-2:]) if is_dotted else sink


def _function(event: Logged, write: Write) -> FunctionInfo | None:
    return event.function if write.payload is None else write.payload.function


def _help(event: Logged, write: Write) -> str:
    keyword = reduces(event.sink)
    divergent = event.control.uniformity is Uniformity.DIVERGENT
    if keyword:
        return _help_of_library(event, keyword, divergent)
    payload = write.payload
    # The write is in a file of the project, and the log may be in another one.
    value = event.value.replace(provenance=_chain(event, write))
    place = replace(event, module=cast("Module", write.module), function=_function(event, write), value=value)
    where = "on all ranks, before the condition around the log call" if divergent else _FIRST
    value, accelerator = (event.value, _logger(event)) if payload is None else (payload.value, payload.accelerator)
    return _gathering(place, value, write.rank, where, accelerator or _logger(event))


def _help_of_library(event: Logged, keyword: str, divergent: bool) -> str:
    """How to have the call that logs a metric reduce it."""
    from trl_lint.analysis.program.syntax import keyword_value

    unless = keeps_from_reducing(event.sink)
    averages = "so that Lightning averages it over the ranks"
    if keyword_value(event.node, unless) is not None:
        where = "on all ranks, outside of the condition, " if divergent else ""
        nothing = f"with `{unless}=True` it reduces nothing"
        return f"log it {where}with `{keyword}=True` and without `{unless}`, {averages}: {nothing}"
    where = "log it on all ranks, outside of the condition, and " if divergent else ""
    return f"{where}pass `{keyword}=True`, {averages}"


def _logger(event: Logged) -> str:
    """The Accelerator or Fabric whose `log` it is; "" if there is none."""
    receiver = getattr(getattr(event.node, "func", None), "value", None)
    has_one = event.sink.startswith("accelerate.") or is_of_fabric(event.sink)
    is_method = has_one and receiver is not None and not isinstance(receiver, str)
    return shown_source(event.module, cast("CSTNode", receiver)) if is_method else ""


def _gathering(place: Logged | MetricShown, value: Value, rank: Rank, where: str, accelerator: str = "") -> str:
    """How to reduce the ranks' values to one. where: at which point; "" for a ratio of two sums."""
    if rank.how == METRIC:
        return f"gather the samples before counting them: {said('gather samples', place, accelerator)}"
    if not where:
        return f"add up the total and the count over the ranks first: {said('add up', place, accelerator)}"
    reduction = {"sum": "sum", "count": "sum", "max": "max", "min": "min"}.get(rank.how, "mean")
    how = said(f"gather {reduction}", place, accelerator)
    # Of the methods that it may name, only Lightning's `all_gather` takes a number.
    as_tensor = ", as a tensor" if value.kind is Kind.NUMBER and "all_gather" not in how else ""
    return f"{'reduce' if 'all_reduce' in how else 'gather'} the value {where}{as_tensor}: {how}"
