"""The documentation against the tool: its tables list what exists, its examples work, its links have targets."""

from __future__ import annotations

import importlib
import json
import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import click
import jsonschema
import pytest
from click.testing import CliRunner
from generating import generate, pictures
from markdown_it import MarkdownIt
from markdowns import FENCE, block, cells, section
from ruamel.yaml import YAML

from trl_lint import findings, toml
from trl_lint.config import KEYS, load_settings, selection
from trl_lint.findings import Finding, Position
from trl_lint.frontends.cli import main
from trl_lint.knowledge.custom import REDUCERS
from trl_lint.rules import all_rules
from trl_lint.rules.base import Rule
from trl_lint.settings import OUTPUT_FORMATS, ConfigError

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SITE = YAML(typ="safe").load(ROOT / "mkdocs.yml")


def read(path: str) -> str:
    """The text of a page, without the tables that are generated from the code."""
    return (DOCS / path).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """All pages of the site, by their path below docs/."""
    written = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    assert not written.keys() & generate.pages().keys()
    return {path: generate.expanded(text) for path, text in written.items()} | generate.pages()


# The site


def in_nav(items: list) -> Iterator[str]:
    for item in items:
        for below in item.values() if isinstance(item, dict) else [item]:
            yield from in_nav(below) if isinstance(below, list) else [below]


def test_every_page_is_in_the_navigation_once(pages):
    assert sorted(in_nav(generate.with_rules(SITE["nav"]))) == sorted(pages)


def test_the_navigation_names_no_rule_by_hand():
    assert [path for path in in_nav(SITE["nav"]) if path.startswith("rules/")] == ["rules/index.md"]


def headings(page: str) -> list[str]:
    """The anchors of a page, as mkdocs creates them."""
    tokens = MarkdownIt().parse(page)
    titles = [below.content for above, below in pairwise(tokens) if above.type == "heading_open"]
    plain = (re.sub(r"[`*]|\[([^]]*)\]\([^)]*\)", r"\1", title) for title in titles)
    slugs = (re.sub(r"[^\w\s-]", "", title.encode("ascii", "ignore").decode()).strip().lower() for title in plain)
    return [re.sub(r"[-\s]+", "-", slug) for slug in slugs]


def links(page: str) -> list[str]:
    tokens = MarkdownIt().enable("table").parse(page)
    inline = [child for token in tokens for child in token.children or ()]
    found = [child.attrs.get("href") or child.attrs.get("src") for child in inline]
    return [link for link in found if isinstance(link, str) and "://" not in link]


def broken_links(pages: dict[str, str]) -> Iterator[str]:
    for path, text in pages.items():
        for link in links(text):
            target, _, anchor = link.partition("#")
            name = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
            if name in pages:
                if anchor and anchor not in headings(pages[name]):
                    yield f"{path}: {link}: no such heading"
            elif name.startswith("..") or not (DOCS / name).is_file():
                yield f"{path}: {link}: no such page"


def test_links_between_pages_lead_somewhere(pages):
    assert sum(len(links(text)) for text in pages.values()) > 60
    assert list(broken_links(pages)) == []


@pytest.mark.parametrize("link", ["gone.md", "limits.md#gone", "#gone", "../README.md"])
def test_a_broken_link_is_seen(pages, link):
    assert len(list(broken_links({**pages, "index.md": f"[x]({link})"}))) == 1


IN_THE_REPOSITORY = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "evaluation/README.md")


@pytest.mark.parametrize("name", IN_THE_REPOSITORY)
def test_links_from_the_repository_lead_somewhere(name):
    path = ROOT / name
    targets = [link.partition("#")[0] for link in links(path.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_pages_can_be_parsed(pages):
    # mkdocs parses the pages like this, and stops if it takes `<![` in a regular expression for markup.
    for text in pages.values():
        HTMLParser().feed(text)


def test_no_marker_is_left(pages):
    assert [path for path, text in pages.items() if "<!-- generated" in text] == []
    assert "rules" in generate.TABLES
    with pytest.raises(KeyError):
        generate.expanded("<!-- generated: gone -->")


# Rules


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_has_its_page(rule, pages):
    page = pages[f"rules/{rule.name}.md"]
    assert page.startswith(f"# {rule.name} ({rule.code})\n")
    assert rule.documentation in page
    assert CliRunner().invoke(main, ["rule", rule.code]).stdout == page + "\n"
    assert len(FENCE.findall(page)) >= 2


def test_every_rule_is_in_the_table_of_rules(pages):
    rows = [row for row in cells(pages["rules/index.md"]) if row[0].startswith("[")]
    assert [row[0] for row in rows] == [f"[{rule.code}]({rule.name}.md)" for rule in all_rules()]
    assert [row[2] for row in rows] == [rule.summary for rule in all_rules()]
    assert [row[3].split(", ")[0] for row in rows] == [rule.consequences[0].value for rule in all_rules()]
    assert [row[4] == "yes" for row in rows] == [rule.has_fix for rule in all_rules()]


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_link_of_a_finding_leads_to_the_page(rule, pages, monkeypatch):
    here = Position(1, 1)
    finding = Finding(rule.code, rule.name, "", "x.py", here, here)
    assert finding.url is None  # nothing is published yet
    monkeypatch.setattr(findings, "DOCS_URL", "https://example.org/")
    assert re.fullmatch(r"https://example\.org/(.+)/", finding.url)[1] + ".md" in pages


def test_every_codemod_is_named(pages):
    named = [row[1].strip("`") for row in cells(section(pages["integrations.md"], "## LibCST codemods"))]
    fixable = [rule for rule in all_rules() if rule.has_fix and isinstance(rule, Rule)]
    assert named == [f"trl_lint.codemods.{type(rule).__name__}Command" for rule in fixable]
    for name, rule in zip(named, fixable, strict=True):
        module, _, command = name.rpartition(".")
        assert rule.code == getattr(importlib.import_module(module), command).CODE


# The command line and the settings


def long_options(command: click.Command) -> list[str]:
    options = [each for each in command.params if isinstance(each, click.Option)]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    return sorted(name for name in names if name.startswith("--"))


@pytest.mark.parametrize("command", main.list_commands(click.Context(main)))
def test_every_option_is_explained(command, pages):
    known = long_options(main.get_command(click.Context(main), command))
    rows = cells(section(pages["command-line.md"], f"## {command}"))
    named = [name for row in rows for name in re.findall(r"--[a-z-]+", row[0])]
    assert sorted(named) == sorted([*known, "--help"])
    assert all(len(row) == 2 and len(row[1]) > 10 for row in rows)


def test_the_schema_of_the_settings_is_as_it_is_made():
    """If it fails: `python docs/generate.py`."""
    assert (DOCS / "settings.schema.json").read_text(encoding="utf-8") == generate.settings_schema()


def valid(document: object) -> bool:
    schema = json.loads(generate.settings_schema())
    return jsonschema.validators.validator_for(schema)(schema).is_valid(document)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "extend = '../x.toml'\nselect = ['TRL0', 'unreduced-metric', 'error', 'deadlock']\npreview = true\n",
        "reducers = { a.b.f = 'mean', 'a.g' = 'sum' }\ntrainer-bases = ['a.B']\nengines = ['ddp']\n",
        "trainer-bases = { 'a.B' = 'trl.DPOTrainer' }\nper-file-ignores = { 'tests/**' = ['TRL003'] }\n",
        "target-trl = '0.17.0'\noutput-format = 'json'\nbaseline = 'known.json'\nlaunch-unknown-gpus = false\n",
    ],
)
def test_what_can_be_read_fits_the_schema(text, tmp_path):
    path = tmp_path / "trl-lint.toml"
    path.write_text(text.replace("extend = '../x.toml'\n", ""), encoding="utf-8")
    load_settings(tmp_path)
    assert valid(toml.parse(text))


@pytest.mark.parametrize(
    "text",
    [
        "selct = []\n",
        "select = 3\n",
        "select = ['unreduced-metrics']\n",
        "preview = 1\n",
        "engines = ['dp']\n",
        "reducers = { 'a.g' = 'maen' }\n",
        "target-trl = 'newest'\n",
        "output-format = 'xml'\n",
        "per-file-ignores = { 'a.py' = 'TRL001' }\n",
    ],
)
def test_what_can_not_be_read_does_not(text, tmp_path):
    (tmp_path / "trl-lint.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError):
        selection(load_settings(tmp_path))
    assert not valid(toml.parse(text))


def test_every_setting_is_explained(pages):
    rows = cells(section(pages["settings.md"], "# Settings"))
    assert [row[0].strip("`") for row in rows] == list(KEYS)
    assert all(len(row) == 4 and all(row) for row in rows)


@pytest.mark.parametrize(
    ("key", "kind", "default"),
    [
        ("select", "list of strings", '`["DEFAULT"]`'),
        ("preview", "`true`, `false`", "`false`"),
        ("target-trl", "string", "the pinned one, else the installed one"),
        (
            "output-format",
            ", ".join(f'`"{each}"`' for each in sorted(OUTPUT_FORMATS)),
            '`"text"` on a terminal, else `"concise"`',
        ),
        ("per-file-ignores", "table of lists", "`{}`"),
        ("reducers", "table of strings", "`{}`"),
    ],
)
def test_what_a_setting_may_be_and_is_without_one(pages, key, kind, default):
    rows = {row[0].strip("`"): row[1:3] for row in cells(section(pages["settings.md"], "# Settings"))}
    assert rows[key] == [kind, default]


@pytest.mark.parametrize("settings", [True, False])
def test_names_of_your_own_are_known_by_the_settings(tmp_path, monkeypatch, settings):
    page = read("settings.md")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text(block(page, "own example"), encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(block(page, "own settings"), encoding="utf-8")
    done = CliRunner().invoke(main, ["--output-format=json", "train.py", *["--isolated"] * (not settings)])
    lines = block(page, "own example").splitlines()
    found = [lines[row["location"]["row"] - 1].strip() for row in json.loads(done.stdout)]
    assert found == (['push({"loss": loss})', "print(model.config, unwrap(model).config)"] if settings else [])


def test_every_word_for_a_reducer_is_explained():
    rows = cells(section(read("settings.md"), "### What a reducer does"))
    words = [word for row in rows for word in re.findall(r"`(\w+)`", row[0])]
    assert words == ["broadcast", "gather", "max", "mean", "min", "sum", "objects"]
    assert sorted(words) == sorted(REDUCERS)


@pytest.mark.parametrize("page", ["settings.md", "silencing.md"])
def test_settings_in_examples_can_be_read(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables = [fence["text"] for fence in FENCE.finditer(read(page)) if fence["language"] == "toml"]
    assert tables
    for table in tables:
        (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
        done = CliRunner().invoke(main, ["--output-format=json"])
        assert (done.exit_code, done.stdout) == (0, "[]\n"), done.output


# The rest


def test_the_example_of_the_python_interface_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    broken = (ROOT / "fixtures" / "item_before_gather" / "broken.py").read_text(encoding="utf-8")
    (tmp_path / "src" / "train.py").write_text(broken, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.trl-lint]\n", encoding="utf-8")
    first, second = (
        fence["text"]
        for fence in FENCE.finditer(read("python.md"))
        if fence["language"] == "python" and "import" in fence["text"]
    )
    exec(first, {})
    missing, found = capsys.readouterr().out.splitlines()[:2]
    assert missing == "examples/train.py: no such file or directory"
    assert found.startswith(f"{tmp_path / 'src' / 'train.py'} 14 TRL001 ")
    names: dict = {}
    exec(second, names)
    assert [each.code for each in names["findings"]] == ["TRL001"]
    assert names["settings"].preview


def test_the_signature_of_check_is_shown_whole(pages):
    text = pages["python.md"]
    assert "def check(paths: " in text and "Raises:" in text and "LintError: some files" in text


@pytest.mark.parametrize("package", ["evaluation", "bench"])
def test_every_benchmark_is_there(package, pages):
    shown = section(pages["measurements.md"], "## Benchmarks")
    named = re.findall(rf"^\| `python -m {package}\.(\w+)", shown, re.MULTILINE)
    found = [ROOT / package / name for name in named]
    assert named and all(path.with_suffix(".py").is_file() or (path / "__main__.py").is_file() for path in found)


def test_every_hook_is_named():
    hooks = re.findall(r"^- id: (\S+)$", (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"), re.MULTILINE)
    assert hooks == ["trl-lint", "trl-lint-fix"]
    assert [name for name in hooks if f"`{name}`" not in section(read("integrations.md"), "## pre-commit")] == []


def test_collectives_are_shown_with_their_releases(pages):
    rows = dict(cells(section(pages["semantics.md"], "### What collectives make of a value")))
    gathered = rows["the values of all ranks: *same*"]
    assert "`accelerate.Accelerator.gather`," in gathered
    assert "`torch.distributed.gather` (on one rank)" in gathered
    assert "`transformers.Trainer._nested_gather` (before 5.2)" in gathered


def test_every_feature_names_a_test_that_is_there():
    rows = [line.split(" | ") for line in (DOCS / "features.md").read_text(encoding="utf-8").splitlines()[6:]]
    assert len(rows) > 30
    for feature, there, _, shown in rows:
        named = shown.strip(" |").strip("`")
        assert bool(named) is (there == "yes"), feature
        if named:
            file, _, function = named.partition("::")
            assert f"def {function or 'test_'}" in (ROOT / "tests" / file).read_text(encoding="utf-8"), feature


def test_pictures_are_those_of_today():
    for picture in pictures.PICTURES:
        assert pictures.drawn(picture) == (DOCS / "pictures" / f"{picture.name}.svg").read_text(encoding="utf-8")
