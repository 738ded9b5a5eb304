"""The values that an option may have where no command gives it, by what the code in sight says of its name.

parser.add_argument("--save-images", type=int, default=0)      0
parser.add_argument("--again", action="store_true")            False
parser.add_argument("--log-dir", type=str)                     None
@click.option("--save-images", type=int, default=0)            0
save_images: int = field(default=0, metadata=…)                0
args.save_images = 3                                           3
config.save_images = args.save_images                          none that it does not have already
args.save_images = len(rows)                                   unknown
getattr(args, "save_images", 8)                                8
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from trl_lint.analysis.program.idioms.literal_tests import UNKNOWN
from trl_lint.analysis.program.project.import_lines import files_in_reach
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.knowledge.argparse_actions import UNSET_BY_ACTION
from trl_lint.knowledge.transformers import OFF_BY_DEFAULT
from trl_lint.quiet_ast import parsed

# Declares an option, on the command line or as a field of a dataclass. There its words may have dashes between them.
_ADDED = rb"[\"']--%b[\"']\s*,"
_FIELD = rb"^[ \t]+%b[ \t]*:[^=\n]+=\s*(?:\w+\.)?(\w+\()?"
# Sets it, but for what it is elsewhere (`model.config.name = args.name`), says what it is where nothing sets it
# (`getattr(args, "name", True)`, `def main(name: bool = True)`), or asks for it in a command.
_SET = (
    rb"\b%b\b(?:[\"']\]?)?\s*=(?![=\s(]*[\w.]*\b%b\b)(?!=)[\s(]*"
    rb"|[\"']%b[\"']\s*:(?!\s*[\w.]*\b%b\b)\s*"
    rb"|\b[gs]etattr\(\s*[\w.]+\s*,\s*[\"']%b[\"']\s*,\s*|\.(?:get|pop|setdefault)\(\s*[\"']%b[\"']\s*,\s*"
    rb"|[(,][ \t]*%b[ \t]*:[^=\n(),]+=\s*"
    rb"|\b%b\b(?:[\"']\])?\s*(?:[-+*/|&]|//)=()|[\"']--%b[\"'](?!\s*,)()"
)
_LITERAL = re.compile(
    rb"(None|False|True|-?\d+(?:\.\d*)?(?:[eE]-?\d+)?|\"[^\"\\\n]*\"|'[^'\\\n]*')\s*(?=[]),;}#\n]|\Z)"
)
_BRACKET = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[][(){}]")
# Where prose was, as code is read without it: `help= )`.
_NO_PROSE = re.compile(rb"([=:])\s*(?=[]),}])")
# What an option of click is without a default, by what it is declared with.
_BY_CLICK = {"is_flag": False, "multiple": (), "count": 0}
# With these an option has no default, or has it from elsewhere.
_ASKED_FOR = frozenset({"envvar", "prompt", "required"})


def unset_values(project: Project, module: Module, option: str, said: tuple[object, ...] = ()) -> tuple[object, ...]:
    """What the linted files and those that the module imports make of an option that no command gives.

    Empty if none of them declares it, or one may make something unknown of it. said: what settings make of it.
    """
    return project.of_linted(
        (unset_values, module.path, option, said), partial(_in_reach, project, module, option, said)
    )


def own_default(module: Module, option: str) -> tuple[object, ...]:
    """The defaults with which a file itself declares an option of its command; None if it does not."""
    return tuple(_added(module.code, option.encode())) or (None,)


def is_off(value: object) -> bool:
    """Whether a value is one that switches something off: `False`, `None`, 0, -1, an empty text."""
    return value is not UNKNOWN and (not value or (isinstance(value, (int, float)) and value < 0))


def _in_reach(project: Project, module: Module, option: str, said: tuple[object, ...]) -> tuple[object, ...]:
    reached = files_in_reach(project, module.path)
    if reached is None or not option:
        return ()
    name = option.encode()
    codes = [code for each in {*reached, *project.linted} if _may_name(code := project.code(each), name)]
    declared = [*said, *(value for code in codes for value in (*_added(code, name), *_of_fields(code, name)))]
    declared += [False] if option in OFF_BY_DEFAULT else []
    found = [*declared, *(value for code in codes for value in _assigned(code, name))]
    return () if not declared or UNKNOWN in found else tuple(found)


def _may_name(code: bytes, option: bytes) -> bool:
    return option in code or option.replace(b"_", b"-") in code


def _added(code: bytes, option: bytes) -> Iterator[object]:
    """What an option is by default, for each place that adds it to a command."""
    for each in _compiled(_ADDED, option).finditer(code):
        yield _default(_call(code, each.end()))


def _of_fields(code: bytes, option: bytes) -> Iterator[object]:
    for each in _compiled(_FIELD, option).finditer(code):
        if each[1]:
            made = _call(code, each.end())
            yield UNKNOWN if made is None else _keywords(made).get("default", UNKNOWN)
        else:
            yield _literal(code, each.end())


def _assigned(code: bytes, option: bytes) -> Iterator[object]:
    for each in _compiled(_SET, option).finditer(code):
        yield UNKNOWN if each.lastindex else _literal(code, each.end())


def _literal(code: bytes, start: int) -> object:
    """The literal at a place, if that is all that is there; UNKNOWN otherwise."""
    found = _LITERAL.match(code, start)
    return UNKNOWN if found is None else ast.literal_eval(found[1].decode())


def _call(code: bytes, start: int) -> ast.Call | None:
    """A call, from a place among its arguments to its end."""
    depth = 0
    for each in _BRACKET.finditer(code, start):
        if each[0] in b"([{":
            depth += 1
        elif each[0] in b")]}":
            depth -= 1
        if depth < 0:
            given = _NO_PROSE.sub(rb"\1 None", code[start : each.end()])
            tree = parsed(b"f(" + given) if each[0] == b")" else None
            match tree.body if tree is not None else []:
                case [ast.Expr(value=ast.Call() as call)]:
                    return call
            return None
    return None


def _keywords(call: ast.Call) -> dict[str, object]:
    return {each.arg or "**": _value(each.value) for each in call.keywords}


def _value(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        return UNKNOWN


def _default(call: ast.Call | None) -> object:
    """What an option is by default, by the arguments after its name, for argparse and click."""
    if call is None or any(not _is_name(each) for each in call.args):
        return UNKNOWN
    given = _keywords(call)
    if "**" in given or any(given.get(each) for each in _ASKED_FOR):
        return UNKNOWN
    if "default" in given:
        return given["default"]
    found = [value for name, value in _BY_CLICK.items() if given.get(name)]
    action = given.get("action", "store")
    return found[0] if found else UNSET_BY_ACTION.get(action, UNKNOWN) if isinstance(action, str) else UNKNOWN


def _is_name(argument: ast.expr) -> bool:
    """Whether an argument is another name of an option of the command line."""
    name = _value(argument)
    return isinstance(name, str) and name.startswith("-")


def _compiled(pattern: bytes, option: bytes) -> re.Pattern[bytes]:
    """A pattern for an option: `keep_best`, and on the command line also `--keep-best`."""
    dashed = b"--" + option.replace(b"_", b"[-_]")
    return re.compile(pattern.replace(b"--%b", dashed).replace(b"%b", option), re.MULTILINE)
