"""Fields that a function sets on objects of unknown class, if the value is the rank, the number of processes, a flag
that says whether there are several, a string that all ranks share, or a number that goes into a copy.

    args.rank = int(os.environ["RANK"])
    torch.cuda.set_device(args.rank)             the rank in the whole job, as assigned
    setattr(args, "ddp.rank", args.rank)         so is getattr(args, "ddp.rank", 0)
    args.out = os.path.join(args.out, args.name) the same on all ranks, as its parts are
    args.factor = dist.get_world_size()          the number of processes
    args.several = args.factor > 1               true where there are several processes
    args.gpus = torch.cuda.device_count()        unknown
    if rank: args.log = False (else: … = True)   differs by the rank (see `flags_by_rank`)
    args = load(path)                            nothing is known of the fields of another object
    opt = args                                   the same object under another name
    self.args = args                             the other methods read the same from `self.args`
    alone = copy.deepcopy(args)
    alone.world_size = 1                         1, in the copy only
    args = parse(); args.distributed = False     False in a program that sets it only there

They are kept among the names of the state, under a key that is no identifier (`args.rank`), and among the attributes of
a class. Assigning another value to a field drops what was known of it: then its own name may say more. With the object
they get into functions that are called, and out of them (`interprocedural.passed_fields`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.interpreter.objects import flags_by_rank
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.import_lines import files_with_names
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import (
    assignments,
    innermost,
    inwards,
    is_main_guard,
    last_name,
    names_in,
    precedes,
    self_attribute,
)
from trl_lint.analysis.state import changed_settings, settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import WORLD_FALSE, WORLD_KIND, WORLD_SIZE, GivenNumber, World
from trl_lint.domain.control import Uniformity
from trl_lint.domain.devices import GLOBAL_RANK
from trl_lint.domain.kinds import LibraryName, library_name_of
from trl_lint.domain.provenance import SharedName, source_step
from trl_lint.domain.ranks import State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.backends import COUNTS_GPUS
from trl_lint.knowledge.heuristics import JOB_SETTING, WORLD_FIELD
from trl_lint.knowledge.python import COPIES_WITH_FIELDS, DICTS_OF_ATTRIBUTES

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module, Project


class Fields:
    """The names of the objects whose fields are kept here, and the fields of what calls have returned, by the call."""

    def __init__(self) -> None:
        self.owners: set[str] = set()
        self.returned: dict[int, Mapping[str, Value]] = {}


class FieldsOfAttributes:
    """The attributes of a class whose fields are kept, each with the names of these."""

    def __init__(self) -> None:
        self.known: dict[str, set[str]] = {}


def may_be_set(frame: Frame, receiver: Value) -> bool:
    """Whether the class of an object is unknown: its own file may be another one (`from options import args`)."""
    settled = frame.engine.settle(receiver)
    return settled.kind is Kind.UNKNOWN or library_name_of(settled) in DICTS_OF_ATTRIBUTES


def assign(frame: Frame, target: cst.Attribute, value: Value) -> None:
    """`args.rank = value`."""
    if not isinstance(target.value, cst.Name):
        return
    changed_settings.note(frame, target, value)
    receiver, field = target.value.value, f"{target.value.value}.{target.attr.value}"
    owners = frame.notes.of(Fields).owners
    value = flags_by_rank.left_by(frame, target, value) or value
    if _is_of_rank(value):
        owners.add(receiver)
        frame.memory.names[field] = value
    elif field in frame.memory.names and frame.memory.names[field].kind in _MAY_BE_TEXT:
        frame.memory.names[field] = value
    elif field in frame.memory.names and is_constant(frame.memory.names[field]):
        frame.memory.names[field] = UNKNOWN  # not dropped: after a branch, the number must not count for both ways
    elif (off := flags_by_rank.off_in_branch(frame, target, value)) is not None:
        owners.add(receiver)
        frame.memory.names[field] = off
    elif value.const is False and _is_off_in_program(frame, target):
        owners.add(receiver)
        frame.memory.names[field] = value.replace(const=WORLD_FALSE)
    elif _is_number(value) and _is_set_in_copy(frame, target):
        owners.add(receiver)
        given = value.const if isinstance(value.const, bool) else GivenNumber(value.const)
        frame.memory.names[field] = value.replace(const=given)
    elif (
        _is_shared_text(value) or _is_of_world(frame, value)
    ) and frame.memory.control.uniformity is Uniformity.UNIFORM:
        owners.add(receiver)
        frame.memory.names[field] = value
    elif receiver in owners:
        frame.memory.names.pop(field, None)


def assign_by_name(frame: Frame, call: cst.CSTNode, field: str, value: Value) -> None:
    """`setattr(args, "rank", value)`: only the rank is kept."""
    owner = _owner(call)
    if not isinstance(owner, cst.Name):
        return
    if _is_of_rank(value):
        frame.notes.of(Fields).owners.add(owner.value)
        frame.memory.names[f"{owner.value}.{field}"] = value
    elif f"{owner.value}.{field}" in frame.memory.names:
        frame.memory.names[f"{owner.value}.{field}"] = UNKNOWN


def _owner(node: cst.CSTNode) -> cst.BaseExpression | None:
    """The object of which an attribute is read or set, by its name as well: `getattr(args, "rank")`."""
    match node:
        case cst.Attribute(value=owner) | cst.Call(func=cst.Name("getattr" | "setattr"), args=[cst.Arg(owner), *_]):
            return owner
    return None


def may_go(value: Value) -> bool:
    """Whether what is known of a field goes with the object into other functions.

    A name that is made of the time does not: elsewhere the field counts as the setting that replaces it.
    """
    return _is_of_rank(value) or value.rank.is_uniform or value.device == GLOBAL_RANK


def is_constant(value: Value) -> bool:
    """Whether the value of a field is a number or a flag that the code gives it."""
    return isinstance(value.const, (bool, GivenNumber))


def _is_number(value: Value) -> bool:
    return value.kind is Kind.NUMBER and isinstance(value.const, (bool, float, int))


def _is_set_in_copy(frame: Frame, target: cst.Attribute) -> bool:
    """Whether a field is set on a copy that the same block has made: `alone = copy.deepcopy(args)`.

    No other name means the object, and wherever this name is used the field has been set, once for each copy.
    """
    root, owner = frame.root, target.value
    copies = [value for name, value in assignments(root) if isinstance(name, cst.Name) and name.deep_equals(owner)]
    targets = changed_settings.targets_of(root, target) if copies else []
    return 0 < len(copies) == len(targets) and all(
        innermost(root, copied, *_BLOCKS) is innermost(root, each, *_BLOCKS)
        and precedes(root, copied, each)
        and _is_copy(frame, copied)
        for copied, each in zip(copies, targets, strict=True)
    )


def _is_off_in_program(frame: Frame, target: cst.Attribute) -> bool:
    """Whether a program runs as one process, whatever happens: it makes its settings and then switches a flag off that
    describes how the job runs, `args.distributed = False`, which neither its file nor what that imports sets otherwise.
    """
    root, owner, field = frame.root, target.value, target.attr.value
    if not JOB_SETTING.fits(field) or len(changed_settings.targets_of(root, target)) != 1:
        return False
    named = [name for name, _ in assignments(root) if isinstance(name, cst.Name) and name.deep_equals(owner)]
    made = [
        each for each in named if innermost(root, each, cst.FunctionDef) is innermost(root, target, cst.FunctionDef)
    ]
    around = [each for each, _ in inwards(root, target) if isinstance(each, cst.BaseCompoundStatement)]
    if len(made) != 1 or not all(each is root or _is_main(each) for each in around):
        return False
    return not _is_set_otherwise(frame.module, frame.engine.project, field)


def _is_main(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.If) and is_main_guard(node.test)


@noted
def _is_set_otherwise(module: Module, project: Project, field: str) -> bool:
    """Whether a file, or one that it imports, sets a field to anything but False."""
    wanted = re.compile(rb"\.%b\s*=(?!=|\s*False\b)" % field.encode())
    files = (module.path, *files_with_names(project, module.path))
    return any(wanted.search(project.code(path)) for path in files)


def _is_of_rank(value: Value) -> bool:
    return value.rank == ranks.RANK_LOCAL and value.kind in _OF_RANK


# What is computed from a number and an unknown value has the kind of data.
_OF_RANK = frozenset({Kind.BATCH, Kind.NUMBER, Kind.STRING})
# The result of `os.path.join(…)` is only known to be pure.
_MAY_BE_TEXT = frozenset({Kind.STRING, Kind.TENSOR, Kind.UNKNOWN})


def _is_of_world(frame: Frame, value: Value) -> bool:
    """Whether it is the number of processes, or a flag that says if there are several.

    One process may have all GPUs: a flag that compares their number is a setting like others.
    """
    if value.const is WORLD_SIZE and frame.statement is not None and COUNTS_GPUS in names_in(frame.statement):
        return False
    return isinstance(value.const, World) and value.const is not WORLD_KIND


def _is_shared_text(value: Value) -> bool:
    """Whether a value is a path or name shared by all ranks, or one that each rank derives from the time by itself."""
    if value.kind not in _MAY_BE_TEXT or value.rank.state is State.BOTTOM:
        return False
    return value.rank.is_uniform or isinstance(source_step(value.provenance), SharedName)


def read(frame: Frame, node: cst.CSTNode, field: str) -> Value | None:
    """The value assigned to a field, if known."""
    owner = _owner(node)
    if owner is None:
        return None
    if isinstance(owner, cst.Name):
        known = frame.memory.names.get(f"{owner.value}.{field}")
        return None if known is not None and known.is_unknown and WORLD_FIELD.fits(field) else known
    attribute = self_attribute(owner)
    if frame.cls is None or field not in _known_of_attribute(frame.cls, attribute):
        return None
    return frame.read_attribute(frame.cls, f"{attribute}.{field}")


def forget(frame: Frame, receiver: str) -> None:
    """Drop the fields of a name that is bound to another object."""
    if receiver in frame.notes.of(Fields).owners:
        for name in [each for each in frame.memory.names if each.startswith(f"{receiver}.")]:
            del frame.memory.names[name]


def of(frame: Frame, expression: cst.CSTNode | None) -> dict[str, Value]:
    """What is known of the fields of the object that an expression is."""
    notes = frame.notes.of(Fields)
    match expression:
        case cst.Name(value=name) if name in notes.owners:
            start = f"{name}."
            names = frame.memory.names
            kept = {key: value for key, value in names.items() if key.startswith(start) and may_go(value)}
            return {key.removeprefix(start): value for key, value in kept.items()}
        case cst.Call():
            return dict(notes.returned.get(id(expression), {})) or _of_copied(frame, expression)
        case cst.Attribute() if frame.cls is not None:
            attribute = self_attribute(expression)
            fields = sorted(_known_of_attribute(frame.cls, attribute))
            found = {field: frame.read_attribute(frame.cls, f"{attribute}.{field}") for field in fields}
            return {field: value for field, value in found.items() if value is not None}
    return {}


def has_constants(frame: Frame, args: Arguments) -> bool:
    """Whether a call passes an object with a field of which the number is known."""
    return any(is_constant(value) for arg in args.nodes.values() for value in of(frame, arg.value).values())


def drop(frame: Frame, owner: cst.CSTNode, field: str) -> None:
    """Drop what was known of a field of an object."""
    if isinstance(owner, cst.Name):
        frame.memory.names.pop(f"{owner.value}.{field}", None)


def _of_copied(frame: Frame, call: cst.Call) -> dict[str, Value]:
    """The fields of the result of a call that copies an object or merges some: `copy.deepcopy(args)`."""
    fields = {name: value for arg in call.args for name, value in of(frame, arg.value).items()}
    return fields if fields and _is_copy(frame, call) else {}


def _is_copy(frame: Frame, call: cst.CSTNode) -> bool:
    if not isinstance(call, cst.Call) or last_name(call.func) not in _COPYING:
        return False
    function = frame.engine.evaluate(frame, call.func)
    return isinstance(function, LibraryName) and function.name in COPIES_WITH_FIELDS


_BLOCKS = (cst.IndentedBlock, cst.Module)
_COPYING = frozenset(each.rpartition(".")[2] for each in COPIES_WITH_FIELDS)


def put(frame: Frame, owner: cst.CSTNode, fields: Mapping[str, Value]) -> None:
    """Keep what is known of the fields of an object under a name that it has here, or as an attribute of `self`."""
    if isinstance(owner, cst.Name) and fields:
        frame.notes.of(Fields).owners.add(owner.value)
        for field, value in fields.items():
            frame.memory.names[f"{owner.value}.{field}"] = value
    elif fields and frame.cls is not None and (attribute := self_attribute(owner)):
        fields = {name: value for name, value in fields.items() if _may_be_kept(frame, frame.cls, name, value)}
        known = frame.cls.origin.notes.of(FieldsOfAttributes).known.setdefault(attribute, set())
        known.update(fields)
        frame.engine.note_stored(FieldsOfAttributes, frame.cls, attribute, *sorted(fields))
        for field, value in fields.items():
            frame.write_attribute(frame.cls, f"{attribute}.{field}", value)


def _may_be_kept(frame: Frame, cls: ClassInfo, field: str, value: Value) -> bool:
    """Whether an attribute of `self` keeps a field: a number only where it is that of all objects of a class."""
    return not is_constant(value) or (cls.is_apart and not settings.is_set_on_self(frame, field))


def _known_of_attribute(cls: ClassInfo, attribute: str) -> set[str]:
    """The fields of an attribute of `self` that methods of the class or of a base have kept."""
    if not attribute:
        return set()
    classes = (cls.origin, *cls.project_lineage())
    return set().union(*(each.notes.of(FieldsOfAttributes).known.get(attribute, ()) for each in classes))
