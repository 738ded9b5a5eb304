"""Names that each rank makes for itself, where all ranks need the same folder.

Events of a program with `stamp = datetime.now().strftime("%Y%m%d_%H%M%S")`:

    TrainingArguments(output_dir=f"out/{stamp}")      PathOfEachRank(user="TrainingArguments")
    args.output_dir = f"out/{uuid.uuid4()}"           PathOfEachRank, as `args` is one
    accelerator.save_state(f"out/{stamp}")            PathOfEachRank(user="accelerator.save_state")
    TrainingArguments(output_dir=f"out/{day}")        none, with `%Y%m%d`: ranks agree on the day
    accelerator.save_state(f"out/{rank}")             none: it is meant to be one for each rank
    torch.save(state, f"out/{stamp}.pt")              none: no rank needs the file of another one
    if accelerator.is_main_process:
        accelerator.save_state(f"out/{stamp}")        none: only one rank names it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

import libcst as cst

from trl_lint.analysis.path_events import PathOfEachRank
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.made_without import (
    ADDS_OPTION,
    declares_true,
    fields_set,
    is_only_assignment,
    made_without,
    option_around,
    parts_of_name,
    sets_true,
)
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.draws import is_arguments
from trl_lint.domain.control import Uniformity
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.provenance import NameOfOneRank, NameOfOwn, NameOnSomeWay, SharedName, source_step
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import library
from trl_lint.knowledge.heuristics import ARGUMENTS_WITH_RANK
from trl_lint.knowledge.one_folder import (
    ARGUMENTS,
    CHOOSE_ENGINE,
    FOLDER,
    FORKS,
    LOADS_BEST,
    SAVED_TOGETHER,
    SAVES,
    SAVES_ALONE,
    SAVES_MODEL_ONLY,
    SAVES_NOTHING,
    SHARES,
)

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import Reached
    from trl_lint.domain.control import Control
    from trl_lint.domain.provenance import Step
    from trl_lint.knowledge.schema import Row


class OwnPath(NamedTuple):
    """A path with a name (`value`) that each rank makes for itself. without: where this option is not given, or ""."""

    value: Value
    without: str = ""


class OwnFields:
    """The fields of objects that a file sets to a name that each rank makes for itself, by their text: `args.out`.

    defaults: the options that have such a name by default, by their names.
    """

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.defaults: dict[str, Value] = {}


class UnsharedPaths(Observer["Frame"]):
    emits = frozenset({PathOfEachRank})
    statements = (cst.Assign, cst.AugAssign)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        saved = SAVED_TOGETHER.get(name)
        if saved is not None and saved.in_parts and frame.module.mentions(SAVES_ALONE):
            return
        for each in () if saved is None else saved.folders:
            path = _own_path(frame, args.get(*each), args.node(*each))
            if saved is not None and path is not None:
                _emit(frame, node, path, _shown(frame, node), in_parts=saved.in_parts)
                return

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        """`parser.add_argument("--out", default=stamp)`."""
        default = args.keywords.get("default") if name == ADDS_OPTION else None
        option = args.keywords.get("dest") or next(iter(args.positional[-1:]), None)
        if default is None or option is None or not isinstance(option.const, str) or not _is_own(frame, default):
            return
        named = option.const.lstrip("-").replace("-", "_")
        frame.module.notes.of(OwnFields).defaults[named] = default
        frame.engine.note_stored(OwnFields, frame.module, named)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        if library.is_subclass(base, ARGUMENTS, frame.engine.versions):
            _on_arguments(frame, args, node)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        """`training_args.output_dir = path`, `training_args.output_dir += name`."""
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value):
                _note_field(frame, target, frame.value_of(value))
            case cst.AugAssign(target=cst.Attribute() as target, operator=cst.AddAssign(), value=value):
                pass
            case _:
                return
        if target.attr.value != FOLDER[1] or not _are_arguments(frame, target.value):
            return
        path = _own_path(frame, frame.known_value(value), value)
        if path is not None:
            loads_best = _loads_best(frame, target.value)
            _emit(frame, value, path, _shown(frame, target.value), of_trainer=True, loads_best=loads_best)

    def on_reached(self, event: Event, reached: Reached) -> Event | None:
        return event if reached.launched else None


def _loads_best(frame: Frame, arguments: cst.BaseExpression) -> bool:
    """Whether arguments load the best model: by the code that makes them, or by default in a class of the project."""
    cls = class_of(frame.known_value(arguments))
    classes = () if cls is None else cls.project_lineage()
    is_default = any(declares_true(each.node, LOADS_BEST) for each in classes)
    return is_default or sets_true(frame.root, arguments, LOADS_BEST)


def _on_arguments(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """The arguments of a Trainer are created."""
    argument = args.node(*FOLDER)
    path = _own_path(frame, args.get(*FOLDER) or _given(frame, args, FOLDER[1]), argument)
    if path is None or _saves_nothing(frame, args):
        return
    _emit(
        frame,
        node if argument is None else argument.value,
        path,
        _shown(frame, node),
        of_trainer=True,
        loads_best=_is_true(frame, args, LOADS_BEST),
        engine_given=any(_is_given(_given(frame, args, each)) for each in CHOOSE_ENGINE),
    )


def _emit(
    frame: Frame,
    node: cst.CSTNode,
    path: OwnPath,
    user: str,
    *,
    of_trainer: bool = False,
    loads_best: bool = False,
    in_parts: bool = False,
    engine_given: bool = False,
) -> None:
    """Emit an event, if all ranks get here."""
    control = frame.memory.control
    if control.others_failed or is_test(frame.function):
        return
    if not all(_lets_all_ranks_in(each, together=in_parts) for each in control.conditions):
        return
    frame.emit(
        PathOfEachRank,
        node,
        path=path.value,
        user=user,
        of_trainer=of_trainer,
        loads_best=loads_best,
        in_parts=in_parts,
        engine_given=engine_given,
        on_some_way=isinstance(source_step(path.value.provenance), NameOnSomeWay),
        without=path.without,
        accelerator=frame.accelerator(),
    )


def _lets_all_ranks_in(condition: Control, *, together: bool) -> bool:
    """Whether all ranks have the same result of a condition. together: if only some made the call, they would wait."""
    if together:
        return not (condition.uniformity is Uniformity.DIVERGENT and Origin.RANK in condition.rank.origins)
    return condition.uniformity is Uniformity.UNIFORM or condition.rank.is_uniform


def _note_field(frame: Frame, target: cst.Attribute, value: Value) -> None:
    """Note a field that is set to a name of each rank's own: other functions that get the object read it from there."""
    control = frame.memory.control
    if not _is_own(frame, value) or not all(_lets_all_ranks_in(each, together=False) for each in control.conditions):
        return
    if is_only_assignment(frame.module.tree, frame.root, target):
        code = frame.module.tree.code_for_node(target)
        frame.module.notes.of(OwnFields).values[code] = value
        frame.engine.note_stored(OwnFields, frame.module, code)


def _own_path(frame: Frame, path: Value | None, passed: cst.Arg | cst.BaseExpression | None) -> OwnPath | None:
    """A path with a name that each rank makes for itself, at least where an option is not given."""
    expression = passed.value if isinstance(passed, cst.Arg) else passed
    if path is None:
        return None
    is_own = _is_own(frame, path)
    if expression is not None and (is_own or (_may_be_made(path) and not frame.module.mentions(SHARES))):
        for made in made_without(frame.root, expression):
            value = frame.value_of(made.value)
            if _is_own(frame, value):
                return OwnPath(value, made.option)
        if not is_own:
            return _of_field(frame, expression)
    return OwnPath(path, _option_of_source(path)) if is_own else None


def _of_field(frame: Frame, expression: cst.BaseExpression) -> OwnPath | None:
    """A path that is made of a field that the file sets, or of an option with such a default that nothing sets."""
    known = frame.module.notes.of(OwnFields)
    if not (known.values or known.defaults):
        return None
    for each in parts_of_name(frame.root, expression):
        if not isinstance(each, cst.Attribute):
            continue
        field = known.values.get(frame.module.tree.code_for_node(each))
        if field is not None:
            return OwnPath(field)
        default = known.defaults.get(each.attr.value)
        if default is not None and not fields_set(frame.module.tree, each.attr.value):
            return OwnPath(default, each.attr.value)
    return None


def _option_of_source(path: Value) -> str:
    """The option without which a rank makes a name, by the place where it does, in whatever function that is."""
    made = source_step(path.provenance)
    return "" if made is None else option_around(cast("Module", made.module).tree, made.node)


def _may_be_made(path: Value) -> bool:
    """Whether a path may be one that is made without an option: settings count as the same on all ranks."""
    return path.rank.state is State.UNKNOWN or (path.rank.state is State.SAME and not path.rank.how)


def _is_own(frame: Frame, path: Value) -> bool:
    """Whether a name has a part that each rank makes for itself, and not to tell its own files apart."""
    made = source_step(path.provenance)
    if not path.rank.differs or made is None or _is_inherited(frame, made):
        return False
    if isinstance(made, NameOfOwn):
        return True
    if path.rank.origins == Origin.RNG:
        return not frame.engine.project.mentions_anywhere(_SEEDS)
    is_coarse = isinstance(made, (SharedName, NameOfOneRank)) and made.coarse
    return path.rank.origins == Origin.CLOCK and not is_coarse


def _is_inherited(frame: Frame, made: Step) -> bool:
    """Whether a name is made before processes are started that inherit it: in the body of a file that forks them."""
    module = cast("Module", made.module)
    is_in_body = frame.function is not None and not definitions_around(module.tree, made.node)
    return is_in_body and module.mentions(FORKS)


def _are_arguments(frame: Frame, owner: cst.BaseExpression) -> bool:
    """Whether an object is the arguments of a Trainer: by its class, or by its name if that is not known."""
    value = frame.value_of(owner)
    if is_arguments(frame, value):
        return True
    return value.kind is Kind.UNKNOWN and isinstance(owner, cst.Name) and ARGUMENTS_WITH_RANK.fits(owner.value)


def _saves_nothing(frame: Frame, args: Arguments) -> bool:
    """Whether the Trainer writes no checkpoint, or nothing but what rank 0 writes and no other rank reads."""
    strategy, text = _given(frame, args, SAVES), args.expression(SAVES)
    is_never = strategy is not None and strategy.const in SAVES_NOTHING
    is_never = is_never or (text is not None and frame.module.tree.code_for_node(text) in SAVES_NOTHING)
    return is_never or (_is_true(frame, args, SAVES_MODEL_ONLY) and not _is_true(frame, args, LOADS_BEST))


def _given(frame: Frame, args: Arguments, name: str) -> Value | None:
    """A keyword argument, also one in a dict whose contents are known: `TrainingArguments(**settings)`."""
    if name in args.keywords or not isinstance(args.double, ContainerValue):
        return args.keywords.get(name)
    found = [cell.entries.get(name) for cell in frame.memory.cells(args.double)]
    return found[0] if len(found) == 1 else None


def _is_true(frame: Frame, args: Arguments, name: str) -> bool:
    value = _given(frame, args, name)
    return value is not None and value.const is True


def _is_given(value: Value | None) -> bool:
    return value is not None and value.kind is not Kind.NONE and value.const not in ("", False)


def _shown(frame: Frame, node: cst.CSTNode) -> str:
    """What needs the folder, as messages say it."""
    code = node.func if isinstance(node, cst.Call) else node
    return frame.module.tree.code_for_node(code)


_SEEDS = rb"seed"

OBSERVER = UnsharedPaths()
