"""Settings: attributes of which only the names are known, and what the names imply.

    args.save_results              SETTING, unless the file sets it
    self.config.train.seed         SETTING
    args.local_rank                unknown
    config["seed"]                 SETTING, if nothing is known of `config`, unless the file sets it
    torch.load(path)["step"]       SETTING
    self.output_dir                SETTING, unless the file sets it to something rank-local

The configuration with which a program is started is the same on all ranks, unless the program itself adds the rank to
it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, of_class
from trl_lint.domain import ranks
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.heuristics import (
    COUNTER,
    OWN_PLACE,
    RANK_FIELD,
    SETTING_OF_RANK,
    SETTINGS_OBJECT,
    SHARED_PLACE,
    WORLD_FIELD,
    tells_rank,
)
from trl_lint.knowledge.schema import WORLD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Project
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

SETTING = Value(ranks.SETTING)
# The kinds that a setting may have; for any other kind more is known than its name.
_KINDS = frozenset({Kind.UNKNOWN, Kind.NUMBER, Kind.STRING})


def known_by_name(frame: Frame, node: cst.Attribute, owner: Value, value: Value) -> Value:
    """The value of an attribute; that of a setting, if its names say so and nothing else is known of it."""
    name = node.attr.value
    if value.kind not in _KINDS:
        return value
    if not (_is_setting(frame, node.value, owner, name) or _is_place(frame, name)):
        return value
    return SETTING if value is UNKNOWN else value.replace(rank=ranks.SETTING)


def length_by_name(frame: Frame, stands: cst.BaseExpression | None, length: Rank) -> Rank:
    """The length of a list; that of a setting, if it is unknown and the names say so."""
    if length != ranks.UNKNOWN or not isinstance(stands, cst.Attribute):
        return length
    return ranks.SETTING if _is_setting(frame, stands.value, UNKNOWN, stands.attr.value) else length


def may_be_own(frame: Frame, node: cst.Attribute) -> bool:
    """Whether code sets an attribute of a settings object by the rank: `args.save_logs = is_master(args)`.

    The parser gives all ranks the same. Later assignments by the program are not followed: neither those of this file,
    nor a rank number that a helper stores there, whether or not there is an option of that name.
    """
    name = node.attr.value
    if RANK_FIELD.fits(name):
        return True
    owner = last_name(node.value)
    if owner in ("", "self"):
        return False
    texts = (text for text in _assigned(frame, name) if text.startswith(f"{owner}."))
    return any(_is_set_by_rank(text, name) for text in texts) or (owner, name) in _set_by_rank(frame)


def is_assigned(frame: Frame, name: str) -> bool:
    """Whether the file assigns to an attribute of this name, of any object."""
    return bool(_assigned(frame, name))


def count_by_name(stands: cst.BaseExpression, value: Value) -> Value:
    """A value put into a text; the fact of a setting for a counter of which only its name is known."""
    is_count = value.rank == ranks.UNKNOWN and value.kind in _KINDS and COUNTER.fits(last_name(stands))
    return value.replace(rank=ranks.SETTING) if is_count else value


def parameter_by_name(name: str, value: Value) -> Value:
    """A parameter of an entry point of which nothing is known, refined by its name."""
    if value.rank != ranks.UNKNOWN or value.kind not in _KINDS:
        return value
    if value.kind is not Kind.STRING and WORLD_FIELD.fits(name):
        return WORLD
    is_setting = _names_place(name) or COUNTER.fits(name) or (SETTINGS_OBJECT.fits(name) and value is UNKNOWN)
    return value.replace(rank=ranks.SETTING) if is_setting else value


def option(name: str, value: Value) -> Value:
    """A parameter of a command that no known caller passes: set on the command line, unless it is named like a rank."""
    if value.rank != ranks.UNKNOWN or value.kind not in _KINDS or _tells_rank(name):
        return value
    return value.replace(rank=ranks.SETTING)


def flags_of_program(constructor: FunctionInfo) -> dict[str, Value]:
    """The flags of a constructor that creates an Accelerator: each process of a program passes the same ones.

    A flag is True or False by default, or is compared with either: `clear is True`.
    """
    calls = of_class(constructor.node, cst.Call)
    if not any(last_name(call.func) == "Accelerator" for call in calls):
        return {}
    asked = {
        each.left.value
        for each in of_class(constructor.node, cst.Comparison)
        if isinstance(each.left, cst.Name) and _is_flag(each.comparisons[0].comparator)
    }
    flags = (each.name for each in constructor.parameters if _is_flag(each.default) or each.name in asked)
    return {name: SETTING for name in flags if not _tells_rank(name)}


def _is_flag(value: cst.BaseExpression | None) -> bool:
    return isinstance(value, cst.Name) and value.value in ("False", "True")


def of_object(frame: Frame, stands: cst.BaseExpression | None, owner: Value, key: Value) -> bool:
    """Whether an item of an unknown object is the same on all ranks: of settings, or a counter of a checkpoint."""
    if stands is None or not isinstance(key.const, str) or not may_be(owner):
        return False
    is_setting = _are_settings(stands) and may_hold(key) and key.const not in _keys_set(frame)
    return is_setting or COUNTER.fits(key.const)


def item_of(frame: Frame, key: Value) -> Value:
    """An item of settings, unless the file puts something under that key, into any object, or it is rank-local."""
    return SETTING if may_hold(key) and key.const not in _keys_put(frame) else UNKNOWN


def may_be(value: Value) -> bool:
    """Whether nothing is known of a value: the result of a function that only computes is assumed to be a tensor."""
    return value.kind in (Kind.TENSOR, Kind.UNKNOWN) and value.rank == ranks.UNKNOWN


def may_hold(key: Value) -> bool:
    """Whether settings hold the same value on all ranks under a key: `cfg["output_dir"]`."""
    return key.rank.state is State.SAME and not (isinstance(key.const, str) and _tells_rank(key.const))


def of_settings(owner: Value, args: Arguments) -> bool:
    """Whether a method of a setting returns a setting, too: `cfg.get("seed", 0)`, `args.output_dir.rstrip("/")`."""
    given = args.all()
    return ranks.combine(owner.rank, args.rank()) == ranks.SETTING and all(
        each.rank == ranks.SETTING or may_hold(each) for each in given
    )


def attribute_of(owner: Value, name: str) -> Value:
    """An attribute of an object that was created from settings, unless its name is that of a rank."""
    return named(name, SETTING) if owner.rank == ranks.SETTING else UNKNOWN


def named(name: str, value: Value) -> Value:
    """The value of a name; unknown instead of a setting if the name is that of a rank."""
    return UNKNOWN if value.rank == ranks.SETTING and _tells_rank(name) else value


def spread(frame: Frame, name: str, value: Value) -> Value:
    """The value of a parameter in `**vars(args)`; unknown if any file sets an attribute of this name by the rank."""
    is_own = value.rank == ranks.SETTING and any(field == name for _, field in _set_by_rank(frame))
    return UNKNOWN if is_own else named(name, value)


def _is_setting(frame: Frame, expression: cst.BaseExpression, owner: Value, name: str) -> bool:
    """Whether `args.debug`, `self.config.train.debug` is a setting: the file never sets it."""
    if _tells_rank(name) or not (owner.rank == ranks.SETTING or _are_settings(expression)):
        return False
    return all(
        text.startswith("self.") or _copies(text, name) or _extends(text, name) for text in _assigned(frame, name)
    )


def _are_settings(expression: cst.BaseExpression) -> bool:
    """Whether an object is a settings object by its names: `args`, `self.config.train`."""
    names = []
    while isinstance(expression, cst.Attribute):
        names.append(expression.attr.value)
        expression = expression.value
    if not isinstance(expression, cst.Name):
        return False
    names.append(expression.value)
    return any(map(SETTINGS_OBJECT.fits, names)) and not any(map(_tells_rank, names))


# It begins with the rare part: the owner is matched only after that.
_PUT = re.compile(r"\.(\w+)[ \t]*=(?!=)([^\n]*)")


# Words for the time of day.
_TIME = re.compile(r"(?i)\w*(?:time|date|now)\w*")
# Methods that derive a text from a text: `.split(",")`, `.strip().lower()`.
_TEXT_CALLS = r"""(?:\.(?:lower|[lr]?strip|r?split|splitlines|upper)\((?:"[^"]*"|'[^']*')?\))*"""


def _copies(text: str, name: str) -> bool:
    """Whether a text copies a setting: `self.debug = cfg.debug`, `args.names = args.names.split(",")`."""
    field = re.escape(name)
    return re.fullmatch(rf"\w*\.{field}\s*=\s*[\w.]+\.{field}{_TEXT_CALLS}\s*(?:#.*)?", text) is not None


def _extends(text: str, name: str) -> bool:
    """Whether a text extends it by nothing rank-local but the time: `args.out = os.path.join(args.out, args.name)`."""
    made = _TIME.sub("", text.partition("=")[2])
    asks_itself = re.search(rf"\.{re.escape(name)}\b", made) is not None
    return asks_itself and not SETTING_OF_RANK.fits(made) and not OWN_PLACE.fits(made)


def _is_place(frame: Frame, name: str) -> bool:
    """Whether `self.output_dir` is a shared path: the file sets it to nothing that may be rank-local."""
    return _names_place(name) and not any(map(OWN_PLACE.fits, _assigned(frame, name)))


def _names_place(name: str) -> bool:
    return SHARED_PLACE.fits(name) and not OWN_PLACE.fits(name)


def _tells_rank(name: str) -> bool:
    return tells_rank(name) or SETTING_OF_RANK.fits(name)


def _is_set_by_rank(text: str, name: str) -> bool:
    """Whether it is set by the rank: `args.save_logs = is_master(args)`, not `args.names = args.names.split(",")`."""
    return SETTING_OF_RANK.fits(text) and (_tells_rank(name) or not _copies(text, name))


def _set_by_rank(frame: Frame) -> frozenset[tuple[str, str]]:
    """The attributes that any linted file sets on a settings object by the rank: the names of both."""
    project = frame.engine.project
    return project.notes.worked_out(_set_by_rank, partial(_all_set_by_rank, project))


def _all_set_by_rank(project: Project) -> frozenset[tuple[str, str]]:
    texts = (project.text(path).decode("utf-8", "replace") for path in sorted(project.linted))
    return frozenset(
        (owner, match[1])
        for text in texts
        for match in _PUT.finditer(text)
        if SETTINGS_OBJECT.fits(owner := _word_before(text, match.start()))
        and SETTING_OF_RANK.fits(match[2])
        and _is_set_by_rank(f"{owner}{match[0]}", match[1])
    )


def _keys_set(frame: Frame) -> frozenset[str]:
    """The keys under which a file puts anything, into any object: `config["seed"] = seed`."""
    module = frame.module
    return module.notes.worked_out(_keys_set, lambda: frozenset(_KEY_SET.findall(module.text)))


def _keys_put(frame: Frame) -> frozenset[str]:
    """The keys under which a file puts more than an option or a literal, unlike `config["seed"] = args.seed`."""
    module = frame.module
    return module.notes.worked_out(_keys_put, lambda: frozenset(_more_than_options(module.text)))


def _more_than_options(text: str) -> Iterator[str]:
    for match in _KEY_PUT.finditer(text):
        if SETTING_OF_RANK.fits(match[2]) or not _OPTION.fullmatch(match[2]):
            yield match[1]


def _assigned(frame: Frame, name: str) -> Sequence[str]:
    """A file's assignments to this attribute of any object: each line from the last word before the dot on."""
    module = frame.module
    return module.notes.worked_out(_assigned, lambda: _all_assigned(module.text)).get(name, ())


# `.name =`, `.name |=`, `setattr(x, "name",`, and a line of several targets. All begin with the rare part, or at a
# line: a file is scanned once.
_TARGET = re.compile(r"\.(\w+)\s*[|&]?=(?!=)")
_TARGETS = re.compile(r"^[ \t]*((?:[\w.]+[ \t]*,[ \t]*)+)[\w.]+[ \t]*=(?!=)", re.MULTILINE)
_SET_BY_NAME = re.compile(r"""\bsetattr\(\s*(\w+),\s*["'](\w+)["'],([^\n]*)""")
_KEY_SET = re.compile(r"""\[\s*["'](\w+)["']\s*\]\s*[|&]?=(?!=)""")
_KEY_PUT = re.compile(r"""\[\s*["'](\w+)["']\s*\]\s*[|&]?=(?!=)[ \t]*([^\n]*)""")
_OPTION = re.compile(r"""(?:\w+\.[\w.]+|["'][^"']*["']|[\d.e-]+|True|False|None)[ \t]*(?:#.*)?""")
_OWNED = re.compile(r"\.(\w+)[ \t]*,")
# The endings of a line that continues on the next one.
_OPEN = ("(", "[", "{", ",")
# How many characters of a line are searched for a word that refers to the rank.
_MOST_READ = 400


@lru_cache(maxsize=64)  # checked at every key, for all files of the project
def _all_assigned(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for match in _TARGET.finditer(text):
        found[match[1]].append(_from_owner(text, match.start()))
    for match in _SET_BY_NAME.finditer(text):
        found[match[2]].append(f"{match[1]}.{match[2]} ={match[3]}")
    for match in _TARGETS.finditer(text):
        if text[max(0, match.start() - _MOST_READ) : match.start()].rstrip().endswith(_OPEN):
            continue  # a call's arguments: `args.output_dir, is_main_process=accelerator.is_main_process`
        for target in _OWNED.finditer(text, match.start(1), match.end(1)):
            found[target[1]].append(_from_owner(text, target.start()))
    return found


def _word_before(text: str, dot: int) -> str:
    start = dot
    while start and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    return text[start:dot]


def _from_owner(text: str, dot: int) -> str:
    """The rest of a line from the word before a dot on."""
    end = text.find("\n", dot, dot + _MOST_READ)
    return _word_before(text, dot) + text[dot : end if end >= 0 else dot + _MOST_READ]
