"""The parts of the documentation that are generated from the code when the site is built, by mkdocs hooks at the end.

One page per rule, from its docstring; and in the other pages the table that a comment requests:

    <!-- generated: options check -->

None of this is stored, so it can't be out of date. README and the schema of the settings are read from their files:
`python docs/generate.py` rewrites the table of rules in the former and all of the latter, and a test fails if that is
needed.
"""

from __future__ import annotations

import ast
import html
import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

import trl_lint
from trl_lint import codemods, config, reports
from trl_lint.findings import Consequence, Severity
from trl_lint.fixes import fix_of
from trl_lint.fixes.base import RuleFix
from trl_lint.frontends.cli import main
from trl_lint.knowledge.custom import REDUCERS
from trl_lint.reports import github, gitlab
from trl_lint.rules import all_rules
from trl_lint.rules.base import BaseRule
from trl_lint.settings import ENGINES, OUTPUT_FORMATS, Settings

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

    from trl_lint.knowledge.schema import Collective

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "docs" / "settings.schema.json"
RULES_INDEX = "rules/index.md"
MARKER = re.compile(r"^<!-- generated: (?P<table>\w+)(?P<words>[\w ./-]*) -->$", re.MULTILINE)
_OPTION = re.compile(r"(?<![`\w-])--[a-z][a-z-]*")


def pages() -> dict[str, str]:
    """The pages that exist only in the site, by their path below docs/."""
    return {f"rules/{rule.name}.md": rule.page for rule in all_rules()}


def expanded(markdown: str) -> str:
    """A page with the tables that its comments request.

    Raises:
        KeyError: there is no table of this name.
    """
    return MARKER.sub(lambda found: TABLES[found["table"]](*found["words"].split()), markdown)


def with_rules(nav: list[Any]) -> list[Any]:
    """The navigation with the page of each rule after that of all rules."""
    whole = []
    for item in nav:
        if isinstance(item, Mapping):
            item = {name: with_rules(below) if isinstance(below, list) else below for name, below in item.items()}
        whole.append(item)
        if item == RULES_INDEX:
            whole += [{f"{rule.code} {rule.name}": f"rules/{rule.name}.md"} for rule in all_rules()]
    return whole


# --- tables ---------------------------------------------------------------------------------------------


def rules_table() -> str:
    rows = (
        (
            f"[{rule.code}]({rule.name}.md)",
            f"{rule.name}{' (preview)' * rule.preview}",
            rule.summary,
            ", ".join(each.value for each in rule.consequences),
            "yes" if rule.has_fix else "hint only",
        )
        for rule in all_rules()
    )
    return _table(("code", "name", "what it reports", "consequence", "fix"), rows)


def consequences_table() -> str:
    rows = ((f"`{each.value}`", each.meaning, f"`{each.severity.value}`") for each in Consequence)
    return _table(("consequence", "what it means", "severity"), rows)


def settings_table() -> str:
    meanings = _attribute_docstrings(Settings)
    kinds = {field.name: field.type for field in msgspec.inspect.type_info(config.schema()).fields}
    rows = []
    for field in fields(Settings):
        if field.name in kinds:
            meaning, _, default = meanings[field.name].partition(" Default: ")
            shown = default.rstrip(".") or _default(field.default, kinds[field.name])
            rows.append((f"`{field.name.replace('_', '-')}`", _kind(kinds[field.name]), shown, meaning))
    return _table(("key", "value", "default", "meaning"), rows)


def options_table(command: str) -> str:
    found = main.get_command(click.Context(main), command)
    if found is None:
        raise KeyError(command)
    above = click.Context(main, info_name="trl-lint", **main.context_settings)
    context = click.Context(found, info_name=command, parent=above)
    options = (each for each in found.get_params(context) if isinstance(each, click.Option))
    records = (option.get_help_record(context) for option in options)
    rows = ((f"`{names}`", _in_code(text)) for names, text in filter(None, records))
    usage = f"```text\n{' '.join(found.get_usage(context).removeprefix('Usage: ').split())}\n```"
    about = _in_code(inspect.cleandoc(found.help or ""))
    return f"{usage}\n\n{about}\n\n{_table(('option', 'what it does'), rows)}"


def collectives_table() -> str:
    from trl_lint.knowledge.library import ROWS
    from trl_lint.knowledge.schema import Collective

    found: dict[str, dict[str, None]] = {result: {} for result in _RESULTS}
    for row in ROWS:
        if isinstance(row, Collective):
            found[row.result][f"`{row.name}`{_notes(row)}"] = None
    return _table(
        ("what the ranks have afterwards", "calls"), ((_RESULTS[key], ", ".join(found[key])) for key in found)
    )


def formats_table() -> str:
    """The formats of a report, each with the first line of its module's docstring."""
    rows = ((name, inspect.getmodule(reports.load(name))) for name in OUTPUT_FORMATS)
    return _table(
        ("format", "what it is"), ((f"`{name}`", (module.__doc__ or "").partition("\n")[0]) for name, module in rows)
    )


def severities_table() -> str:
    """The severity of each consequence, and its name where findings are collected."""
    rows = (
        (", ".join(each.value for each in Consequence if each.severity is severity), severity.value, level, grade)
        for severity, level, grade in ((each, github.LEVELS[each], gitlab.SEVERITIES[each]) for each in Severity)
    )
    return _table(("consequence", "severity", "`github`", "`gitlab`"), rows)


def codemods_table() -> str:
    rows = ((command.CODE, f"`{codemods.__name__}.{command.__name__}`") for command in codemods.COMMANDS)
    return _table(("rule", "command"), rows)


def signature(name: str) -> str:
    """A function of the Python interface, as in its source, without its body."""
    function = getattr(trl_lint, name)
    source = inspect.getsource(function)
    (tree,) = ast.parse(source).body
    head = source.splitlines()[: tree.body[0].end_lineno]
    return "\n".join(("```python", *head, "```"))


def with_rules_table(text: str) -> str:
    """README with the current table of rules, and the list of those in preview."""
    above, heading, rest = text.partition("\n## Rules\n\n")
    table, blank, below = rest.partition("\n\n")
    previews, _, below = below.partition("\n\n")
    if not table.startswith("| code |") or not previews.startswith(_IN_PREVIEW):
        raise ValueError("there is no table of rules, or no list of previews below it")
    return f"{above}{heading}{_readme_table()}{blank}{_readme_previews()}{blank}{below}"


_IN_PREVIEW = "In preview (`--preview`): "


def _readme_table() -> str:
    rows = ((_link(rule), rule.name, rule.summary, _best_fix(rule)) for rule in all_rules() if not rule.preview)
    return _table(("code", "name", "what it reports", "best fix"), rows)


def _readme_previews() -> str:
    return f"{_IN_PREVIEW}{', '.join(f'{_link(rule)} {rule.name}' for rule in all_rules() if rule.preview)}."


def _link(rule: BaseRule) -> str:
    return f"[{rule.code}](trl_lint/rules/{rule.module}.py)"


def _best_fix(rule: BaseRule) -> str:
    """How far the best of a rule's fixes can be trusted."""
    if not rule.has_fix:
        return "hint"
    fix = fix_of(rule.fix_module)
    return (fix or RuleFix).applicabilities[0].value


def readme(*heading: str) -> str:
    """A section of README with its heading."""
    wanted = f"## {' '.join(heading)}"
    _, found, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition(f"\n{wanted}\n")
    if not found:
        raise KeyError(wanted)
    return f"{wanted}\n{rest.partition(f'{chr(10)}## ')[0]}".rstrip()


def benchmarks_table() -> str:
    lines = (ROOT / "evaluation" / "README.md").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


def file(path: str) -> str:
    """A file below docs/, unchanged."""
    found = ROOT / "docs" / path
    kind = {".yml": "yaml", ".sh": "bash"}[found.suffix]
    return f"```{kind}\n{found.read_text(encoding='utf-8').rstrip()}\n```"


# The result of a collective in words, by the keyword of its row.
_RESULTS = {
    "gathered": "the values of all ranks: *same*",
    "reduced": "their sum, mean, maximum, …: *same*",
    "broadcast": "the value of one rank: *same*",
    "objects": "the Python objects of all ranks: *same*",
    "scattered": "another piece on each rank: *local*",
    "messages": "another Python object on each rank: *local*",
    "padded": "its own values, in the shape that all have: as before",
    "barrier": "nothing; all have waited for each other",
}


def guesses_table() -> str:
    from trl_lint.knowledge.heuristics import all_guesses

    return _table(
        ("of what", "what is taken for granted", "names"),
        ((each.group, each.says, _in_names(each.words, each.pattern)) for each in all_guesses().values()),
    )


def _in_names(words: Iterable[str], pattern: str) -> str:
    if "<!" in pattern:  # a parser of pages takes it for markup
        return f"<code>{html.escape(pattern).replace('|', '&#124;')}</code>"
    shown = sorted(words) or [pattern.replace("|", "\\|")]
    return ", ".join(f"`{each}`" for each in shown)


def settings_schema() -> str:
    """A JSON Schema of a settings file, for editors, created from the types that read it."""
    made = msgspec.json.schema(config.schema())
    table = made["$defs"]["Table"]
    meanings = _attribute_docstrings(Settings)
    words = {"anyOf": [{"enum": config.selector_words()}, {"type": "string", "pattern": "^[Tt][Rr][Ll][0-9]{0,3}$"}]}
    for key, found in table["properties"].items():
        found |= next((each for each in found.pop("anyOf", []) if each != {"type": "null"}), {})
        if found.get("default", "") is None:
            del found["default"]
        found["description"] = meanings[key.replace("-", "_")].replace("`", "")
        if key in ("select", "ignore", "extend-select"):
            found["items"] = words
        elif key == "engines":
            found["items"] = {"enum": list(ENGINES)}
        elif key == "per-file-ignores":
            found["additionalProperties"] = {"type": "array", "items": words}
    reducers, bases = table["properties"]["reducers"], table["properties"]["trainer-bases"]
    # Dotted names may be written as tables in tables, and of trainer bases a list will do.
    nested = {"anyOf": [{"enum": sorted(REDUCERS)}, {"type": "object"}]}
    reducers["additionalProperties"] = nested
    del bases["type"], bases["additionalProperties"]
    bases["anyOf"] = [{"type": "array", "items": {"type": "string"}}, {"type": "object"}]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of trl-lint"}
    return json.dumps(head | table | {"title": head["title"], "additionalProperties": False}, indent=2) + "\n"


TABLES: Mapping[str, Callable[..., str]] = {
    "rules": rules_table,
    "consequences": consequences_table,
    "settings": settings_table,
    "options": options_table,
    "collectives": collectives_table,
    "formats": formats_table,
    "severities": severities_table,
    "guesses": guesses_table,
    "codemods": codemods_table,
    "signature": signature,
    "readme": readme,
    "file": file,
    "benchmarks": benchmarks_table,
}


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = tuple(head)
    lines = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _in_code(text: str) -> str:
    """A text for the terminal, with its options as code."""
    return _OPTION.sub(r"`\g<0>`", text).replace("<", "&lt;")


def _attribute_docstrings(cls: type) -> dict[str, str]:
    """The strings below the attributes of a class."""
    (tree,) = ast.parse(inspect.getsource(cls)).body
    assert isinstance(tree, ast.ClassDef)
    return {
        above.target.id: inspect.cleandoc(below.value.value)
        for above, below in zip(tree.body, tree.body[1:], strict=False)
        if isinstance(above, ast.AnnAssign) and isinstance(above.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
    }


def _default(default: Any, kind: msgspec.inspect.Type) -> str:
    return "none" if default is None else f"`{_toml(default, kind)}`"


def _toml(default: Any, kind: msgspec.inspect.Type) -> str:
    if isinstance(kind, msgspec.inspect.DictType):
        return "{}"
    return msgspec.json.encode(default).decode().replace('","', '", "')


def _kind(kind: msgspec.inspect.Type) -> str:
    """The possible values of a key, in words."""
    match kind:
        case msgspec.inspect.UnionType(types=types):
            (given,) = (each for each in types if not isinstance(each, msgspec.inspect.NoneType))
            return _kind(given)
        case msgspec.inspect.LiteralType(values=values):
            return ", ".join(f'`"{value}"`' for value in values)
        case msgspec.inspect.DictType(value_type=value):
            return "table of lists" if isinstance(value, msgspec.inspect.VarTupleType) else "table of strings"
        case msgspec.inspect.VarTupleType():
            return "list of strings"
        case msgspec.inspect.BoolType():
            return "`true`, `false`"
        case msgspec.inspect.StrType():
            return "string"
    raise TypeError(kind)


def _notes(row: Collective) -> str:
    """The releases for which a row holds, and the ranks that have the result, if not all."""
    notes = [f"from {row.since}"] * bool(row.since) + [f"before {row.until}"] * bool(row.until)
    notes += ["on one rank"] * (row.root is not None)
    return f" ({', '.join(notes)})" if notes else ""


# --- mkdocs ---------------------------------------------------------------------------------------------


def on_config(config: MkDocsConfig) -> None:
    config.nav = with_rules(config.nav)


def on_files(files: Files, config: MkDocsConfig) -> None:
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))


def on_page_markdown(markdown: str, **_: Any) -> str:
    return expanded(markdown)


if __name__ == "__main__":
    path = ROOT / "README.md"
    path.write_text(with_rules_table(path.read_text(encoding="utf-8")), encoding="utf-8")
    SCHEMA.write_text(settings_schema(), encoding="utf-8")
