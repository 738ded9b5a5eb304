"""Shell scripts, and shell text inside other files: commands in the order in which they run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from trl_lint.launch.commands.command_wrappers import unwrap
from trl_lint.launch.commands.commands import (
    CHARACTERS,
    COPIES,
    STEPS_OF_COMMAND,
    Assignment,
    Command,
    CommandContext,
    Commands,
    Form,
    Hint,
    HintKind,
    Word,
)
from trl_lint.launch.commands.found_commands import FoundCommands
from trl_lint.launch.commands.nested_scripts import script_of
from trl_lint.launch.commands.source_map import Passage
from trl_lint.launch.parsers.shell_comments import batch_hints, head_hints, notes, split_words
from trl_lint.launch.parsers.shell_tree import parse
from trl_lint.launch.parsers.shell_words import (
    LONGEST,
    MOST_WORDS,
    Reader,
    Token,
    Value,
    Variables,
    assigned,
    parts_of,
    value_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

# How deep commands in strings and calls of functions are followed, and how many calls.
DEEPEST = 5
MOST_CALLS = 200
# Characters of a value that is computed from others.
_MADE = re.compile(r"[$`]")
_SCRIPT_FILE = re.compile(r"\.(?:sh|bash|slurm|sbatch)\Z")
_NOT_ARGUMENTS = frozenset(
    {"variable_assignment", "file_redirect", "herestring_redirect", "heredoc_redirect", "comment"}
)


def commands(text: str) -> Commands:
    """The commands of a shell script."""
    yield from read(Passage.whole(text), CommandContext("shell"))


def read(passage: Passage, surroundings: CommandContext, variables: Mapping[str, str | None] | None = None) -> Commands:
    """The commands of shell text. variables: set there but not exported, for example those of a Makefile."""
    set_before = assigned(surroundings.environment)
    set_before.values.update(variables or {})
    script = Script(passage, surroundings, set_before)
    yield from script.run()


def read_line(passage: Passage, surroundings: CommandContext) -> Commands:
    """The command of a line that is split into words like a shell's, but not run by a shell."""
    for each in read(passage, surroundings):
        inside = len(each.surroundings.around) > len(surroundings.around)
        yield each if inside else replace(each, form=Form.LINE)


class Script:
    """One run of a script. `variables` holds what it has set, after `run`."""

    def __init__(self, passage: Passage, surroundings: CommandContext, variables: Variables, depth: int = 0) -> None:
        self._work = surroundings.work
        self._work.spend(1 + len(passage.text) // CHARACTERS, "commands")
        self._work.spend(len(variables.values) // COPIES, "variables")
        self._tree = parse(passage)
        hints = (*surroundings.hints, *batch_hints(passage.text), *head_hints(passage.text))
        self._surroundings = replace(surroundings, hints=hints)
        # The environment of the last command; the next one shares it if nothing has changed.
        self._environment: Mapping[str, str | None] = surroundings.environment
        self._depth = depth
        self._calls = 0
        self._running: list[str] = []
        self._functions: dict[str, Node] = {}
        self._called: set[str] = set()
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._conditions: list[str] = []
        self._found = FoundCommands(surroundings.work)
        self.variables = variables

    def run(self) -> list[Command]:
        self._walk(self._tree.root)
        for name in [each for each in self._functions if each not in self._called]:
            self._call(name, None)
        return self._found.known()

    # Statements

    def _walk(self, node: Node) -> None:
        handler = _HANDLERS.get(node.type)
        if handler is not None:
            handler(self, node)
            return
        if node.type == "ERROR":
            return
        for child in node.named_children:
            self._walk(child)

    def _in_subshell(self, node: Node) -> None:
        """Run a subshell, whose variables are not visible outside."""
        before = self._copied()
        for child in node.named_children:
            self._walk(child)
        self.variables = before

    def _copied(self) -> Variables:
        """The current variables."""
        self._work.spend(1 + len(self.variables.values) // COPIES, "variables")
        return self.variables.copy()

    def _joined(self, other: Variables) -> None:
        """Keep what holds whether the code run last or the other has run."""
        self._work.spend(1 + len(other.values) // COPIES, "variables")
        self.variables.join(other)

    def _may_run(self, node: Node) -> None:
        """A loop or a `case`: it may run or not."""
        before, around = self._copied(), len(self._conditions)
        if node.type == "for_statement":
            self._bind_loop(node)
        elif node.type == "case_statement":
            self._add_condition(node, " in")
        for child in node.named_children:
            self._walk(child)
        del self._conditions[around:]
        self._joined(before)

    def _add_condition(self, node: Node, until: str) -> None:
        """The code that follows depends on a condition, which is at the start of the node."""
        self._conditions.append(" ".join(self._tree.text(node).partition(until)[0].split()))

    def _bind_loop(self, node: Node) -> None:
        name, *items = [each for each in node.named_children if each.type != "do_group"]
        values = [token.word.value for token in self._tokens(items)]
        self.variables.values[self._tree.text(name)] = values[0] if len(values) == 1 else None

    def _if(self, node: Node) -> None:
        """`if`: each branch starts from the state before it, and what all of them agree on holds afterwards."""
        branches = [each for each in node.named_children if each.type in ("elif_clause", "else_clause")]
        before, around = self._copied(), len(self._conditions)
        self._add_condition(node, "then")
        for child in node.named_children:
            if child not in branches:
                self._walk(child)
        ends = [self.variables]
        for branch in branches:
            self.variables = before
            self.variables = self._copied()
            if branch.type == "elif_clause":
                self._add_condition(branch, "then")
            for child in branch.named_children:
                self._walk(child)
            ends.append(self.variables)
        del self._conditions[around:]
        if not any(each.type == "else_clause" for each in branches):
            ends.append(before)
        self.variables = ends[0]
        for each in ends[1:]:
            self._joined(each)

    def _list(self, node: Node) -> None:
        left, *right = node.named_children
        self._walk(left)
        before = self._copied()
        for child in right:
            self._walk(child)
        if any(each.type == "||" for each in node.children):
            self._joined(before)

    def _define(self, node: Node) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self._functions[self._tree.text(name)] = body

    def _call(self, name: str, arguments: tuple[Word, ...] | None) -> None:
        self._called.add(name)
        self._calls += 1
        if name in self._running or len(self._running) >= DEEPEST or self._calls > MOST_CALLS:
            return
        self._running.append(name)
        outer, self.variables.arguments = self.variables.arguments, arguments
        self._walk(self._functions[name])
        self.variables.arguments = outer
        self._running.pop()

    # Variables

    def _assignment(self, node: Node) -> tuple[Assignment, Value] | None:
        """An assignment to a plain name, and the value of the variable, which may be an array."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        for child in [value] if value is not None else []:
            self._substitutions(child)
        if name is None or name.type != "variable_name":
            return None
        start, end, _ = self._tree.passage.span(self._tree.start(node), self._tree.end(node))
        found: Value = "" if value is None else self._reader().value(value)
        text = self._tree.text(name)
        if any(self._tree.text(each) == "+=" for each in node.children):
            found = _added(self.variables.values.get(text), found)
        self._work.spend(1 + sum(len(each or "") for each in parts_of(found)) // CHARACTERS, "variables")
        written_out = value is None or not _MADE.search(self._tree.text(value))
        return Assignment(text, found if isinstance(found, str) else None, start, end, written_out), found

    def _set(self, node: Node) -> None:
        if found := self._assignment(node):
            assignment, value = found
            self.variables.values[assignment.name] = value

    def _declare(self, node: Node) -> None:
        keyword = self._tree.text(node.children[0])
        flags = [self._tree.text(each) for each in node.named_children if each.type == "word"]
        exports = keyword == "export" or any(re.fullmatch(r"-\w*x\w*", each) for each in flags)
        if "-n" in flags:
            return
        for child in node.named_children:
            name: Node | None = child
            if child.type == "variable_assignment":
                self._set(child)
                name = child.child_by_field_name("name")
            if exports and name is not None and name.type == "variable_name":
                self.variables.exported.add(self._tree.text(name))

    def _unset(self, node: Node) -> None:
        for child in node.named_children:
            self.variables.values.pop(self._tree.text(child), None)
            self.variables.exported.discard(self._tree.text(child))

    # Commands

    def _reader(self) -> Reader:
        return Reader(self._tree, self.variables)

    def _substitutions(self, node: Node) -> None:
        """Run commands in `$(…)` and `<(…)` inside a word."""
        if node.type in ("command_substitution", "process_substitution"):
            self._in_subshell(node)
            return
        for child in node.named_children:
            self._substitutions(child)

    def _command(self, node: Node) -> None:
        arguments = [each for each in node.named_children if each.type not in _NOT_ARGUMENTS]
        for child in node.named_children:
            self._substitutions(child)
        if node.has_error or not arguments:
            return
        assignments = [self._assignment(each) for each in node.named_children if each.type == "variable_assignment"]
        tokens = self._unaliased(self._tokens(arguments))
        if tokens:
            self._add_command(node, tokens, tuple(each[0] for each in assignments if each is not None))

    def _tokens(self, nodes: Iterable[Node]) -> list[Token]:
        """The words that these arguments expand to."""
        found: list[Token] = []
        for each in nodes:
            words = self._reader().tokens(each)
            self._work.spend(len(words), "words")
            found += words
        return found

    def _unaliased(self, tokens: list[Token]) -> list[Token]:
        first = tokens[0] if tokens else None
        if first is None or first.word.value not in self._aliases:
            return tokens
        self._work.spend(len(self._aliases[first.word.value]), "words")
        words = [replace(first.word, value=each, exact=False, tail=each) for each in self._aliases[first.word.value]]
        return [*(Token(each, first.start, first.end) for each in words), *tokens[1:]]

    def _add_command(self, node: Node, tokens: list[Token], assignments: tuple[Assignment, ...]) -> None:
        words = tuple(each.word for each in tokens)
        name = words[0].value
        if name == "alias":
            self._define_alias(words[1:])
        elif name in self._functions:
            self._call_with_assignments(name, words[1:], assignments)
        elif name != "eval":
            self._work.spend(STEPS_OF_COMMAND, "commands")
            start, end, exact = self._tree.passage.span(self._tree.start(node), self._tree.end(node))
            context = self._context(self._tree.start(node), self._tree.end(node))
            command = Command(words, context, start, end, assignments, exact)
            self._found.add(command)
            self._nested(command, tokens)
            if name in ("cd", "pushd", "popd"):
                self._change_folder(words)

    def _change_folder(self, words: tuple[Word, ...]) -> None:
        """Change the folder; it is unknown unless the target is a literal path."""
        before = self.variables.values.get("PWD", "")
        target = words[1].value if len(words) == 2 else None
        if isinstance(before, str) and target and target[0] not in "-~":
            folder = posixpath.normpath(posixpath.join(before, target))
            self._work.spend(len(folder) // CHARACTERS, "folders")
            self.variables.values["PWD"] = folder if len(folder) <= LONGEST else None
        else:
            self.variables.values["PWD"] = None

    def _call_with_assignments(
        self, name: str, arguments: tuple[Word, ...], assignments: tuple[Assignment, ...]
    ) -> None:
        """Call a function; assignments in front of the call hold inside it."""
        before = self._copied()
        for each in assignments:
            self.variables.values[each.name] = each.value
            self.variables.exported.add(each.name)
        self._call(name, arguments)
        for each in assignments:
            self.variables.exported -= {each.name} - before.exported
            self.variables.values[each.name] = before.values.get(each.name)

    def _context(self, start: int, end: int) -> CommandContext:
        folder = self.variables.values.get("PWD")
        found = [Hint(HintKind.FOLDER, folder, f"cd {folder}")] if isinstance(folder, str) else []
        found += (Hint(HintKind.CHOICE, each, each) for each in self._conditions)
        found += notes(self._tree.passage.text, start, end)
        self._work.spend(len(self._surroundings.hints) + len(found), "comments and options")
        hints = (*self._surroundings.hints, *found)
        return replace(self._surroundings, environment=self._exported(), hints=hints)

    def _exported(self) -> Mapping[str, str | None]:
        """The environment of a command at this point."""
        self._work.spend(len(self.variables.exported) // COPIES, "variables")
        environment = self.variables.environment()
        if environment != self._environment:
            self._work.spend(len(environment), "variables")
            self._environment = environment
        return self._environment

    def _define_alias(self, words: tuple[Word, ...]) -> None:
        for each in words:
            name, equals, value = (each.value or "").partition("=")
            if equals and not re.search(r"[$`;|&<>(){}]", value):
                self._aliases[name] = tuple(split_words(value))

    def _nested(self, command: Command, tokens: list[Token]) -> None:
        """Read the script in a string: `bash -c '…'`."""
        found = unwrap(command.words)
        if found.script is None or self._depth >= DEEPEST:
            return
        token = tokens[found.script]
        inner = script_of(token.word, self._tree.passage.part(token.start, token.end))
        if inner is None:
            return
        around = command.words[: found.script]
        variables = self._copied()
        if not all(each.prefix.environment for each in found.wrappers):
            variables.exported.clear()
        for name, value in {**{each.name: each.value for each in command.assignments}, **found.environment}.items():
            variables.values[name] = value
            variables.exported.add(name)
        self._run_script(inner, _submitted(command.surroundings, around), variables)

    def _run_script(self, passage: Passage, surroundings: CommandContext, variables: Variables) -> None:
        script = Script(passage, surroundings, variables, self._depth + 1)
        for each in script.run():
            self._found.add(each)

    def _redirected(self, node: Node) -> None:
        body = node.child_by_field_name("body")
        for child in node.named_children:
            if child.type != "heredoc_redirect":
                self._walk(child)
                continue
            for inner in child.named_children:
                if inner.type not in ("heredoc_body", "heredoc_start", "heredoc_end", "file_redirect"):
                    self._walk(inner)
            self._heredoc(node, body, child)

    def _heredoc(self, node: Node, body: Node | None, redirect: Node) -> None:
        """Read a script that is passed to a shell or a scheduler, or written to a script file."""
        texts = [each for each in redirect.named_children if each.type == "heredoc_body"]
        if body is None or body.type != "command" or not texts or self._depth >= DEEPEST:
            return
        arguments = [each for each in body.named_children if each.type not in _NOT_ARGUMENTS]
        words = [token.word for token in self._tokens(arguments)]
        found = unwrap(words)
        runs = not found.rest and found.wrappers and found.wrappers[-1].prefix.strings
        if not runs and not (words and words[0].value in ("cat", "tee") and self._writes_script(node, redirect, words)):
            return
        passage = self._tree.passage.part(self._tree.start(texts[0]), self._tree.end(texts[-1]))
        variables = self._copied() if runs else Variables()
        context = self._surroundings if runs else replace(self._surroundings, around=(), hints=())
        self._run_script(passage, _submitted(context, tuple(words) if runs else ()), variables)

    def _writes_script(self, node: Node, redirect: Node, words: list[Word]) -> bool:
        targets = [each for each in (*node.named_children, *redirect.named_children) if each.type == "file_redirect"]
        names = [self._tree.text(each).strip("\"'") for each in targets] + [each.tail for each in words[1:]]
        return any(_SCRIPT_FILE.search(each) for each in names)


_HANDLERS = {
    "subshell": Script._in_subshell,
    "pipeline": Script._in_subshell,
    "command_substitution": Script._in_subshell,
    "if_statement": Script._if,
    "for_statement": Script._may_run,
    "c_style_for_statement": Script._may_run,
    "while_statement": Script._may_run,
    "case_statement": Script._may_run,
    "list": Script._list,
    "function_definition": Script._define,
    "variable_assignment": Script._set,
    "declaration_command": Script._declare,
    "unset_command": Script._unset,
    "command": Script._command,
    "redirected_statement": Script._redirected,
}


def _submitted(surroundings: CommandContext, words: tuple[Word, ...]) -> CommandContext:
    """The context of a script that is passed to `words`: a separate job has its own options."""
    hints = surroundings.hints
    if any(each.value == "sbatch" for each in words):
        hints = tuple(each for each in hints if each.kind is not HintKind.SLURM)
    return replace(surroundings, around=(*surroundings.around, words), hints=hints)


def _added(before: Value, more: Value) -> Value:
    if isinstance(before, str) and isinstance(more, str):
        return (before + more)[:LONGEST]
    if isinstance(before, tuple) and isinstance(more, tuple):
        return (before + more)[:MOST_WORDS]
    is_array = isinstance(before, tuple) or isinstance(more, tuple)
    return None if is_array else value_of((*parts_of(before), *parts_of(more)))
