"""The shapes of batches that a loader yields, and of the models' outputs for them.

For example:

    batch["input_ids"]           (SAME, RAGGED)          padded to this rank's longest sample
    model(**batch).logits        (SAME, RAGGED, SAME)    one row per token, if it is a model of tokens
    model.generate(**batch)      (SAME, RAGGED)          as long as this rank's longest completion
"""

from __future__ import annotations

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.tensors.batch_lengths import may_have_one_length
from trl_lint.analysis.transfer.tensors.tensor_shapes import of_attribute, padded_list
from trl_lint.analysis.transfer.tensors.tensor_sizes import shaped, varies
from trl_lint.domain.kinds import BatchRole, BatchValue, role_of, shape_of
from trl_lint.domain.model_roles import is_trained
from trl_lint.domain.shapes import OWN_LENGTH, RAGGED, SAME, Shape
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge import heuristics, library
from trl_lint.knowledge import shapes as table

_BATCH_REASON = "this rank's batch is padded to its own longest sample"
_TOKENS_REASON = "the model's output is as long as this rank's longest sample"
_GENERATED_REASON = "completions are as long as this rank's longest"

# --- batches ------------------------------------------------------------------------------------------------


def of_field(frame: Frame, batch: Value, name: object) -> Shape | None:
    """The shape of a field of a batch, by its name and by what the file shows about lengths."""
    if not isinstance(name, str) or not varies(batch) or may_have_one_length(frame, batch):
        return None
    if heuristics.PADDED_LABELS.fits(name) or heuristics.PADDED_FIELD.fits(name):
        return Shape((SAME, RAGGED), _BATCH_REASON)
    if name == "labels":
        if frame.module.shows(heuristics.PADS_LABELS) and _shows_tokens(frame):
            return Shape((SAME, RAGGED), _BATCH_REASON)
        return Shape((SAME,), _BATCH_REASON, open=True, tokens=True)
    return None


def attribute_of(frame: Frame, receiver: Value, value: Value, name: str) -> Value:
    """The value of `receiver.name`, with its shape."""
    if role_of(receiver) is BatchRole.OUTPUT:
        return shaped(value, receiver.shape if name == "logits" else None)
    if role_of(receiver) is BatchRole.WHOLE and (receiver.shape is None or receiver.shape is OWN_LENGTH):
        return shaped(value, of_field(frame, receiver, name))
    return shaped(value, of_attribute(receiver, name))


def entry(frame: Frame, batch: Value, value: Value, name: str, args: Arguments) -> Value:
    """`batch.get(key)`, `batch.pop(key)`."""
    if name not in ("get", "pop") or not args.positional or role_of(batch) is not BatchRole.WHOLE:
        return value
    return shaped(value, of_field(frame, batch, args.positional[0].const))


# --- models -------------------------------------------------------------------------------------------------


def with_logits(frame: Frame, output: Value, model: Value, args: Arguments) -> Value:
    """A model's output, which carries the shape of its logits."""
    return shaped(output, of_logits(frame, model, args)) if output.rank.differs else output


def generated(output: Value, args: Arguments) -> Value:
    """The result of `generate`: tokens, unless it is asked for more."""
    shape = of_generated(args)
    return output if shape is None else output.as_a(BatchValue, shape=shape)


def of_logits(frame: Frame, model: Value, args: Arguments) -> Shape | None:
    """The shape of the logits of a model: one row per token, if it is known to be a model of tokens."""
    inputs = [value for value in args.all() if varies(value)]
    known = [shape for shape in map(shape_of, inputs) if shape is not None and not shape.open]
    if not inputs or any(may_have_one_length(frame, value) for value in inputs):
        return None
    if known and not any(shape.is_ragged for shape in known):
        return None
    tokens = _is_of_tokens(frame, model, args)
    if tokens is None:
        return Shape((SAME,), _TOKENS_REASON, open=True, tokens=True)
    return Shape((SAME, RAGGED, SAME), _TOKENS_REASON) if tokens else None


def of_generated(model_args: Arguments) -> Shape | None:
    """The shape of the result of `generate`, if that is tokens."""
    fixed = {"min_length", "min_new_tokens", "return_dict_in_generate"} & model_args.keywords.keys()
    if fixed or not any(varies(value) for value in (*model_args.all(), model_args.star, model_args.double) if value):
        return None
    return Shape((SAME, RAGGED), _GENERATED_REASON)


def _is_of_tokens(frame: Frame, model: Value, args: Arguments) -> bool | None:
    """Whether a model's logits have one row per token; None if unknown."""
    if table.TOKEN_ARGUMENTS & args.keywords.keys():
        return True
    if is_trained(model) or model.wrapping is Wrapping.WRAPPED:
        trainers = _trainers(frame)
        if trainers & table.SAMPLE_TRAINERS:
            return False
        if trainers & table.TOKEN_TRAINERS:
            return True
    return _shows_tokens(frame)


def _shows_tokens(frame: Frame) -> bool | None:
    """Whether the models that a file names have one row of logits per token; None if unknown."""
    tokens, samples = map(frame.module.shows, (heuristics.TOKEN_MODELS, heuristics.SAMPLE_MODELS))
    return None if tokens is samples else tokens


def _trainers(frame: Frame) -> set[str]:
    """The library trainers that the class of `self` is, or is derived from."""
    if frame.cls is None:
        return set()
    names = (frame.cls.canonical, *frame.cls.library_bases())
    return {base for name in names if name for base in library.mro(name, frame.engine.versions)}


def returned(frame: Frame, function: FunctionInfo, args: Arguments, value: Value) -> Value:
    """The result of a project function; if a library itself is linted, with the shape from the knowledge tables."""
    padding = table.PADDING.get(f"{function.module.name}.{function.name}")
    if padding is None or value.shape is not None:
        return value
    return shaped(value, padded_list(frame, args, padding))
