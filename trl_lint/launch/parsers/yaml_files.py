"""YAML: CI workflows, compose, Kubernetes, SkyPilot. Keys are interpreted by name, whatever the file is called."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from trl_lint.launch.commands.commands import (
    CHARACTERS,
    COPIES,
    CommandContext,
    Commands,
    Form,
    Hint,
    HintKind,
    Unreadable,
    Word,
    Work,
)
from trl_lint.launch.commands.source_map import Passage, align
from trl_lint.launch.commands.templates import without_templates
from trl_lint.launch.parsers import argv, shell
from trl_lint.launch.parsers.shell_words import assigned

LARGEST = 300_000
# Deeper documents do not describe launches.
DEEPEST = 60

# Keys whose value is shell text, or a list of lines for one shell.
SHELL_KEYS = frozenset(
    {"run", "script", "before_script", "after_script", "bash", "cmds", "cmd", "commands", "setup", "inlineScript", "sh"}
)
# Keys whose value is a command line or the list of its words.
COMMAND_KEYS = ("entrypoint", "command", "entry", "args")
# Keys that set environment variables for the nodes beside and below them.
ENVIRONMENT_KEYS = frozenset({"env", "environment", "variables", "envs", "environment_variables"})
# Keys in which Kubernetes, compose and SkyPilot give the number of GPUs.
_GPU_KEYS = frozenset({"nvidia.com/gpu", "amd.com/gpu", "gpus", "gpu_count"})


def commands(text: str) -> Commands:
    """The commands of a YAML file."""
    yield from read(Passage.whole(text), CommandContext("yaml"))


def read(passage: Passage, surroundings: CommandContext) -> Commands:
    if len(passage.text) > LARGEST:
        raise Unreadable(f"a YAML file of {len(passage.text)} characters is not looked at")
    # A template's braces are invalid YAML at the start of a value, and half the templates in use are not YAML at all.
    readable = without_templates(passage)
    for root in _documents(readable.text):
        yield from _Document(passage, readable).walk(root, surroundings)


def _documents(text: str) -> Iterator[Node]:
    try:
        yield from YAML(typ="rt", pure=True).compose_all(text)
    except YAMLError as error:
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        mark = getattr(error, "problem_mark", None)
        raise Unreadable(f"no YAML: {problem}{f' in line {mark.line + 1}' if mark else ''}") from None
    except (RecursionError, ValueError, AssertionError, AttributeError, TypeError, IndexError) as error:
        raise Unreadable(f"no YAML that can be read ({type(error).__name__})") from None


# A script (by its node), with the hints and the environment for reading it.
_ScriptKey: TypeAlias = tuple[int, tuple[Hint, ...], frozenset[tuple[str, str | None]]]


@dataclass(slots=True)
class _Document:
    passage: Passage
    readable: Passage
    seen: set[int] = field(default_factory=set)
    # By scalar: its text, with the position of each character.
    passages: dict[int, Passage | None] = field(default_factory=dict)
    # The scripts that were read, each with its context, and the environment after it.
    scripts: dict[_ScriptKey, dict[str, str | None]] = field(default_factory=dict)

    def walk(self, node: Node, context: CommandContext, depth: int = 0) -> Commands:
        """The commands at and below a node. The node of an anchor is walked once."""
        if id(node) in self.seen or depth > DEEPEST:
            return
        self.seen.add(id(node))
        if isinstance(node, SequenceNode):
            for child in node.value:
                yield from self.walk(child, context, depth + 1)
        elif isinstance(node, MappingNode):
            context = self._with_environment(node, context)
            yield from self._launches(_entries(node), context)
            for key, value in node.value:
                # A key may also be a list or a mapping.
                if not isinstance(key, ScalarNode) or key.value not in ENVIRONMENT_KEYS:
                    yield from self.walk(value, context, depth + 1)

    def _with_environment(self, node: MappingNode, context: CommandContext) -> CommandContext:
        entries = _entries(node)
        environment = context.environment
        for key in (each for each in entries if each in ENVIRONMENT_KEYS):
            context.work.spend(1 + len(environment) + len(entries[key].value), "variables")
            environment = {**environment, **_variables(entries[key])}
        hints = tuple(_hints(node, context.work))
        if hints:
            context.work.spend(len(context.hints) + len(hints), "amounts of resources")
        return replace(context, environment=environment, hints=context.hints + hints)

    def _launches(self, entries: dict[str, Node], context: CommandContext) -> Commands:
        if _scalar(entries.get("shell")) in ("python", "python3", "pwsh", "powershell", "cmd"):
            return
        for key in (each for each in entries if each in SHELL_KEYS):
            yield from self._shell(entries[key], context)
        if "before_script" not in entries or "script" not in entries:
            yield from self._words([entries[key] for key in COMMAND_KEYS if key in entries], context)

    def _shell(self, node: Node, context: CommandContext) -> Commands:
        """The commands of one script, or of a list of lines."""
        parts = node.value if isinstance(node, SequenceNode) else [node]
        environment = dict(context.environment)
        for part in parts:
            # An alias repeated in the same context adds nothing.
            context.work.spend(1 + len(environment) // COPIES + len(context.hints) // COPIES, "aliases")
            key = (id(part), context.hints, frozenset(environment.items()))
            if key in self.scripts:
                environment = self.scripts[key]
                continue
            passage = self._scalar_passage(part, context)
            if passage is None:
                continue
            script = shell.Script(passage, replace(context, environment=environment), assigned(environment))
            yield from script.run()
            environment = self.scripts[key] = script.variables.environment()

    def _words(self, nodes: list[Node], context: CommandContext) -> Commands:
        """`entrypoint`/`command` and `command`/`args` are one command if both are lists of words."""
        lists = [each for each in nodes if isinstance(each, SequenceNode)]
        if len(lists) == len(nodes):
            parts = [child for each in lists for child in each.value]
            if parts and all(isinstance(each, ScalarNode) for each in parts):
                yield from argv.read([self._item(each, context) for each in parts], context, _form(lists))
            return
        for each in nodes:
            passage = self._scalar_passage(each, context)
            if passage is not None:
                yield from shell.read_line(passage, context)

    def _scalar_passage(self, node: Node, context: CommandContext) -> Passage | None:
        if not isinstance(node, ScalarNode):
            return None
        if id(node) not in self.passages:
            context.work.spend(1 + len(node.value) // CHARACTERS, "texts")
            self.passages[id(node)] = self._aligned(node)
        return self.passages[id(node)]

    def _aligned(self, node: ScalarNode) -> Passage | None:
        start, end = self._contents(node)
        # The round-trip loader inserts \a where it folded a line.
        found = align(self.readable.text, start, end, node.value.replace("\a", ""))
        at = self.passage.at
        return found and Passage(self.passage.file, found.text, array("q", (at[each] for each in found.at)))

    def _contents(self, node: ScalarNode) -> tuple[int, int]:
        """The span of a scalar in the passage, without its quotes or its block header."""
        start, end = node.start_mark.index, node.end_mark.index
        text = self.passage.text
        if node.style in ("|", ">"):
            start = text.find("\n", start, end) + 1 or end
        elif node.style in ("'", '"'):
            start, end = start + 1, end - 1
        return start, end

    def _item(self, node: ScalarNode, context: CommandContext) -> argv.Item:
        start, end, exact = self.passage.span(node.start_mark.index, node.end_mark.index)
        raw = self.passage.text[node.start_mark.index : node.end_mark.index]
        unknown = "$" in node.value or "${_" in self.readable.text[node.start_mark.index : node.end_mark.index]
        plain = node.style in (None, "'", '"') and "\n" not in raw
        word = Word(None if unknown else node.value, start, end, raw, exact and plain, "" if unknown else node.value)
        return argv.Item(word, self._scalar_passage(node, context))


def _form(nodes: list[SequenceNode]) -> Form:
    return Form.YAML_FLOW if nodes[0].flow_style else Form.YAML_BLOCK


def _entries(node: MappingNode) -> dict[str, Node]:
    return {key.value: value for key, value in node.value if isinstance(key.value, str)}


def _scalar(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) else ""


def _variables(node: Node) -> dict[str, str | None]:
    """`NAME: value`, `- NAME=value`, and the `- name: NAME` and `value: …` of Kubernetes."""
    found: dict[str, str | None] = {}
    if isinstance(node, MappingNode):
        return {name: _known(value) for name, value in _entries(node).items()}
    for each in node.value if isinstance(node, SequenceNode) else ():
        if isinstance(each, MappingNode):
            entries = _entries(each)
            if "name" in entries:
                found[_scalar(entries["name"])] = _known(entries.get("value"))
        elif isinstance(each, ScalarNode) and "=" in each.value:
            name, _, value = each.value.partition("=")
            found[name] = None if "$" in value else value
    return found


def _known(node: Node | None) -> str | None:
    if not isinstance(node, ScalarNode):
        return None
    return None if "$" in node.value or "{{" in node.value else node.value


def _hints(node: MappingNode, work: Work) -> Iterator[Hint]:
    """What a mapping says about GPUs and the machine, for the nodes beside and below it."""
    entries = _entries(node)
    host = entries.get("runs-on") or entries.get("vmImage")
    if _scalar(host):
        yield Hint(HintKind.HOST, _scalar(host), f"runs-on: {_scalar(host)}")
    for key in ("resources", "deploy", "gpus", "gpu_count"):
        if key in entries:
            yield from _amounts(key, entries[key], work, set())


def _amounts(key: str, node: Node, work: Work, seen: set[tuple[str, int]], depth: int = 0) -> Iterator[Hint]:
    """GPU counts below `resources` and `deploy`. An alias repeated under the same key counts once."""
    if depth > 6 or (key, id(node)) in seen:
        return
    seen.add((key, id(node)))
    work.spend(1, "amounts of resources")
    if isinstance(node, ScalarNode):
        if key in _GPU_KEYS:
            yield Hint(HintKind.GPUS, node.value, f"{key}: {node.value}")
        elif key == "accelerators":
            yield _accelerators(node.value)
    elif isinstance(node, SequenceNode):
        for each in node.value:
            yield from _amounts("", each, work, seen, depth + 1)
    elif isinstance(node, MappingNode):
        entries = _entries(node)
        if _is_gpu_device(entries):
            yield _device(entries)
        for name, value in entries.items():
            if name == "accelerators" and isinstance(value, MappingNode):
                yield from (_accelerators(f"{kind}:{_scalar(count)}") for kind, count in _entries(value).items())
            else:
                yield from _amounts(name, value, work, seen, depth + 1)


def _accelerators(value: str) -> Hint:
    """SkyPilot's `A100:8`; `A100` alone means one."""
    name, _, count = value.partition(":")
    if not name:
        return Hint(HintKind.GPUS, "?", "accelerators")
    return Hint(HintKind.GPUS, count or "1", f"accelerators: {value}")


def _is_gpu_device(entries: dict[str, Node]) -> bool:
    """Whether this is a GPU among compose's `devices`: `driver: nvidia` or `capabilities: [gpu]`."""
    capabilities = entries.get("capabilities")
    listed = capabilities.value if isinstance(capabilities, SequenceNode) else ()
    return _scalar(entries.get("driver")) == "nvidia" or "gpu" in [_scalar(each) for each in listed]


def _device(entries: dict[str, Node]) -> Hint:
    """compose's device reservation: `count: 1`, `count: all` or `device_ids`; without either, all."""
    devices = entries.get("device_ids")
    if isinstance(devices, SequenceNode):
        ids = ",".join(_scalar(each) for each in devices.value)
        return Hint(HintKind.GPUS, f"device={ids}", f"device_ids: [{ids}]")
    count = _scalar(entries.get("count")) or "all"
    return Hint(HintKind.GPUS, count if re.fullmatch(r"\d+|all", count) else "?", f"count: {count}")
