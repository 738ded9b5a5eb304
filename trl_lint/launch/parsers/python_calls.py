"""Python that starts other programs: `subprocess.run([…])`, `os.system("…")`, and the usage in a script's docstring."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from trl_lint import quiet_ast
from trl_lint.launch.commands.commands import (
    COPIES,
    CommandContext,
    Commands,
    Form,
    Hint,
    HintKind,
    Word,
    Work,
)
from trl_lint.launch.commands.source_map import Passage, align, joined, line_starts, opaque
from trl_lint.launch.commands.templates import without_braces
from trl_lint.launch.parsers import argv, console_sessions, markdown, shell
from trl_lint.launch.parsers.readers import LAUNCHERS, PYTHON_STARTS, may_be_command
from trl_lint.launch.parsers.shell_tree import character_index

# A file without one of these starts nothing.
NEEDLES = re.compile(r"subprocess|Popen|os\.(?:system|popen|exec|spawn)|create_subprocess|check_call")
_STARTS = re.compile(PYTHON_STARTS)
# By the last part of their names: functions that take a list of words or, with `shell=True`, a line for the shell.
_RUNNERS = frozenset(
    {"run", "call", "check_call", "check_output", "Popen", "create_subprocess_exec", "create_subprocess_shell"}
)
_LINES = frozenset({"system", "popen", "getoutput", "getstatusoutput", "create_subprocess_shell"})
_EXEC = {"execv": 1, "execve": 1, "execvp": 1, "execvpe": 1, "spawnv": 2, "spawnve": 2, "spawnvp": 2, "spawnvpe": 2}
_STARTERS = _RUNNERS | _LINES | _EXEC.keys()
_MODULES = frozenset({"subprocess", "os", "asyncio", "sp"})
# The expression bound to each name, None if not known.
Names = Mapping[str, ast.expr | None]
_LITERAL = re.compile(
    r"""(?P<prefix>[A-Za-z]{0,2})(?P<quotes>'{3}|"{3}|'|")(?P<text>(?:\\.|(?!(?P=quotes)).)*)(?P=quotes)""", re.DOTALL
)
# What `%` fills: `%s`, `%(lr)g`, `%.2f`, `%%`.
_CONVERSION = re.compile(r"%(?:\(\w+\))?[-+ #0]*[\d.*]*[a-zA-Z%]")
# White space, comments and line breaks between adjacent literals.
_BETWEEN = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*)*")


def commands(text: str) -> Commands:
    """The commands that a Python file starts, or that its docstring tells users to type."""
    if not _STARTS.search(text):
        return
    tree = _parsed(text)
    if tree is None:  # the linter itself reports it
        return
    reader = _Reader(text)
    yield from reader.docstring(tree)
    if NEEDLES.search(text):
        yield from reader.scope(tree.body, ChainMap(), {})


# Few files start others. They are read twice: for what they start in the project, and to check the commands.
_parsed = lru_cache(maxsize=16)(quiet_ast.parsed)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """A condition on which calls depend, and the one around it."""

    node: ast.If
    around: Choice | None


@dataclass(slots=True)
class _Reader:
    file: str
    work: Work = field(default_factory=Work)
    _starts: list[int] = field(default_factory=list)
    _ascii: bool = True
    # For lines that are not ASCII: the character of each byte.
    _characters: dict[int, Sequence[int]] = field(default_factory=dict)
    # Conditions that were already unparsed.
    _tests: dict[ast.If, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._ascii = self.file.isascii()
        self._starts = line_starts(self.file)

    def docstring(self, tree: ast.Module) -> Commands:
        first = tree.body[0] if tree.body else None
        if not isinstance(first, ast.Expr) or not isinstance(first.value, ast.Constant):
            return
        if not isinstance(first.value.value, str) or not may_be_command(first.value.value):
            return
        passage = self._string(first.value)
        if passage is not None:
            fenced = "```" in passage.text
            read = markdown.read if fenced else console_sessions.paragraphs
            yield from read(passage, CommandContext("docstring", work=self.work))

    def scope(
        self, body: Sequence[ast.stmt], around: ChainMap[str, ast.expr | None], environment: dict[str, str | None]
    ) -> Commands:
        """The commands of a module, class or function. around: names bound once in enclosing scopes."""
        names, choices = around.new_child(_bound(body)), _choices(body)
        for node in _own_nodes(body):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.work.spend(1 + len(environment) // COPIES, "variables")
                yield from self.scope(node.body, names, dict(environment))
            elif isinstance(node, ast.Assign):
                environment |= _environment_item(node, names)
            elif isinstance(node, ast.Call):
                yield from self._call(node, names, environment, choices.get(node))

    def _call(
        self,
        node: ast.Call,
        names: Names,
        environment: dict[str, str | None],
        choice: Choice | None,
    ) -> Commands:
        name, root = _called(node.func)
        if name not in _STARTERS or not node.args or (root and root not in _MODULES):
            return
        self.work.spend(1 + len(environment), "variables")
        hints = tuple(Hint(HintKind.CHOICE, each, each) for each in self._conditions(choice))
        call_environment = {**environment, **_environment_argument(node, names)}
        context = CommandContext("python", call_environment, hints, work=self.work)
        argument = _resolved(node.args[0], names)
        if name in _EXEC and root == "os":
            place = _EXEC[name]
            words = _resolved(node.args[place], names) if len(node.args) > place else None
            yield from self._words(words, names, context)
        elif name in _LINES and (root or name == "create_subprocess_shell"):
            yield from self._line(argument, context)
        elif name == "create_subprocess_exec":
            yield from argv.read([self._item(each, names) for each in node.args], context, Form.PYTHON)
        elif name in _RUNNERS and (root == "subprocess" or root == "sp" or (not root and name != "run")):
            yield from self._run(argument, names, context)

    def _conditions(self, choice: Choice | None) -> list[str]:
        """The conditions on which a call depends, the outermost first."""
        found: list[str] = []
        while choice is not None:
            self.work.spend(1, "conditions")
            if choice.node not in self._tests:
                self._tests[choice.node] = ast.unparse(choice.node.test)
            found.append(self._tests[choice.node])
            choice = choice.around
        return found[::-1]

    def _run(self, argument: ast.expr | None, names: Names, context: CommandContext) -> Commands:
        """The commands of a list of words, of a line, or of a line that is split."""
        if isinstance(argument, (ast.List, ast.Tuple)):
            yield from self._words(argument, names, context)
        elif isinstance(argument, ast.Call) and _called(argument.func)[0] == "split":
            func = argument.func
            line = argument.args[0] if argument.args else func.value if isinstance(func, ast.Attribute) else None
            yield from self._line(_resolved(line, names) if line is not None else None, context, shell.read_line)
        else:
            yield from self._line(argument, context)

    def _words(self, node: ast.expr | None, names: Names, context: CommandContext) -> Commands:
        if isinstance(node, (ast.List, ast.Tuple)):
            yield from argv.read([self._item(each, names) for each in node.elts], context, Form.PYTHON)

    def _item(self, node: ast.expr, names: Names) -> argv.Item:
        start, end = self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)
        raw = self.file[start:end]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            is_single = len(_literals(raw)) == 1
            return argv.Item(Word(node.value, start, end, raw, is_single, node.value), self._string(node))
        if raw == "sys.executable":
            return argv.Item(Word("python", start, end, raw, True, "python"), None)
        known = names.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(known, ast.Constant) and isinstance(known.value, str):
            return argv.Item(Word(known.value, start, end, raw, False, known.value), None)
        if isinstance(known, ast.Attribute) and ast.unparse(known) == "sys.executable":
            return argv.Item(Word("python", start, end, raw, True, "python"), None)
        inner = self._string(node) if isinstance(node, ast.JoinedStr) else None
        return argv.Item(Word(None, start, end, raw, True, _known_end(node)), inner)

    def _line(
        self,
        node: ast.expr | None,
        context: CommandContext,
        read: Callable[[Passage, CommandContext], Commands] = shell.read,
    ) -> Commands:
        passage = self._formatted(node) if node is not None else None
        if passage is not None and any(each in passage.text for each in ("python", "uv run", *LAUNCHERS)):
            yield from read(passage, context)

    def _formatted(self, node: ast.expr) -> Passage | None:
        """The contents of a string, with unknown values in the places that `.format(…)` or `%` fill."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            template = self._string(node.func.value)
            return without_braces(template) if template is not None else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            template = self._string(node.left)
            return template.replaced(_CONVERSION, opaque) if template is not None else None
        return self._string(node)

    def _string(self, node: ast.expr) -> Passage | None:
        """The contents of a string, which adjacent literals may be joined to; None if one of them can't be read."""
        if not isinstance(node, ast.JoinedStr) and not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            return None
        start, end = self._offset(node.lineno, node.col_offset), self._offset(node.end_lineno, node.end_col_offset)
        passages = [self._literal(start + each.start(), each) for each in _literals(self.file[start:end])]
        if not passages or None in passages:
            return None
        return joined([each for each in passages if each is not None]) if len(passages) > 1 else passages[0]

    def _literal(self, start: int, literal: re.Match[str]) -> Passage | None:
        """The contents of one literal, which begins at an offset of the file."""
        start, end = start + literal.start("text") - literal.start(), start + literal.end("text") - literal.start()
        if "f" in literal["prefix"].lower():
            return without_braces(Passage.between(self.file, start, end)) if "\\" not in literal[0] else None
        value = ast.literal_eval(literal[0])
        if not isinstance(value, str):
            return None
        if self.file[start:end] == value:
            return Passage.between(self.file, start, end)
        return align(self.file, start, end, value)

    def _offset(self, line: int | None, column: int | None) -> int:
        """The index for a position of `ast`, whose columns count bytes of UTF-8."""
        start = self._starts[min((line or 1) - 1, len(self._starts) - 1)]
        if self._ascii or not column:
            return start + (column or 0)
        if start not in self._characters:
            number = bisect_right(self._starts, start)
            end = self._starts[number] if number < len(self._starts) else len(self.file)
            self._characters[start] = character_index(self.file[start:end].encode("utf-8", "replace"))
        characters = self._characters[start]
        return start + characters[min(column, len(characters) - 1)]


def _literals(raw: str) -> list[re.Match[str]]:
    """The adjacent literals that a string is written as; none if there is anything else."""
    found: list[re.Match[str]] = []
    place = 0
    while place < len(raw):
        literal = _LITERAL.match(raw, place)
        if literal is None:
            return []
        found.append(literal)
        between = _BETWEEN.match(raw, literal.end())
        place = between.end() if between else literal.end()
    return found


def _own_nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a scope in source order; functions and classes in it are yielded, not entered."""
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _choices(body: Sequence[ast.stmt]) -> dict[ast.AST, Choice]:
    """The innermost condition on which each call of a scope depends."""
    found: dict[ast.AST, Choice] = {}
    stack: list[tuple[ast.AST, Choice | None]] = [(node, None) for node in body]
    while stack:
        node, choice = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.Call) and choice is not None:
            found[node] = choice
        inside = Choice(node, choice) if isinstance(node, ast.If) else choice
        test = node.test if isinstance(node, ast.If) else None
        stack += ((each, choice if each is test else inside) for each in ast.iter_child_nodes(node))
    return found


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.expr | None]:
    """The expression bound to each name of a scope, None if it is bound more than once or augmented."""
    found: dict[str, ast.expr | None] = {}
    for node in _own_nodes(body):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            found[name] = None if name in found else node.value
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id, None)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = found.get(node.target.id)
    return found


def _resolved(node: ast.expr, names: Names) -> ast.expr | None:
    return names.get(node.id) if isinstance(node, ast.Name) else node


def _called(func: ast.expr) -> tuple[str, str]:
    """`run` and `subprocess` for `subprocess.run`."""
    if isinstance(func, ast.Attribute):
        return func.attr, func.value.id if isinstance(func.value, ast.Name) else "?"
    return (func.id, "") if isinstance(func, ast.Name) else ("", "")


def _known_end(node: ast.expr) -> str:
    """The known end of an f-string, or of `root / "train.py"` and `root + "/train.py"`."""
    if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[-1], ast.Constant):
        return str(node.values[-1].value)
    if isinstance(node, ast.Call) and _called(node.func)[0] in ("str", "fspath", "join") and node.args:
        end = _known_end(node.args[-1])
        return f"/{end}" if end and _called(node.func)[0] == "join" else end
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Add)):
        end = _known_end(node.right)
        return f"/{end}" if end and isinstance(node.op, ast.Div) else end
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _environment_item(node: ast.Assign, names: Names) -> dict[str, str | None]:
    """`os.environ["NAME"] = "value"`."""
    target = node.targets[0]
    if not isinstance(target, ast.Subscript) or ast.unparse(target.value) != "os.environ":
        return {}
    key = target.slice
    return {key.value: _text(node.value, names)} if isinstance(key, ast.Constant) and isinstance(key.value, str) else {}


def _text(node: ast.expr | None, names: Names) -> str | None:
    node = _resolved(node, names) if node is not None else None
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _environment_argument(node: ast.Call, names: Names) -> dict[str, str | None]:
    """The variables of `env={…}`; an unreadable one may set which GPUs are visible."""
    expression = next((each.value for each in node.keywords if each.arg == "env"), None)
    if expression is None or ast.unparse(expression) in ("None", "os.environ", "os.environ.copy()"):
        return {}
    known = _resolved(expression, names)
    if isinstance(known, ast.Dict):
        pairs = zip(known.keys, known.values, strict=True)
        return {
            key.value: _text(value, names)
            for key, value in pairs
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        }
    return {"CUDA_VISIBLE_DEVICES": None}
