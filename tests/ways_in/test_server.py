"""The language server, driven over its protocol by another project's client."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import PurePath

import forks
import pytest
from samples import BASE, BROKEN, FIXTURES, MINE, marks, unmarked

pytest.importorskip("pygls", reason="pygls is not installed")
pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed")
import pytest_asyncio
from lsp_client import SECONDS, editor
from lsprotocol import types

import trl_lint
from trl_lint.findings import Applicability
from trl_lint.settings import Settings

# One server is enough for most: each test has its own folder.
pytestmark = pytest.mark.asyncio(loop_scope="module")
ALL = '[tool.trl-lint]\nselect = ["ALL"]\n'


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def server():
    async with editor() as found:
        yield found


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pyproject.toml").write_text(ALL, encoding="utf-8")
    return tmp_path


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def fixed_by_command_line(path, *options):
    """The result of `trl-lint --fix` for a file."""
    done = forks.module("trl_lint", "--fix", *options, "--stdin-filename", path, "-", stdin=path.read_bytes())
    return done.stdout


def places(found):
    return [
        (each.range.start.line, each.range.start.character, each.range.end.line, each.range.end.character, each.code)
        for each in found
    ]


@pytest.mark.parametrize("name", BROKEN)
async def test_it_says_what_the_command_line_says(server, folder, name):
    path = written(folder / "broken.py", unmarked(BROKEN[name]))
    found = await server.open(path)
    expected = trl_lint.check(path)
    assert [(line + 1, code) for line, _, _, _, code in places(found)] == marks(BROKEN[name])
    assert places(found) == [
        (each.start.line - 1, each.start.column - 1, each.end.line - 1, each.end.column - 1, each.code)
        for each in expected
    ]
    for shown, finding in zip(found, expected, strict=True):
        assert shown.source == "trl-lint"
        assert shown.message.split("\nhelp: ") == [finding.message, finding.help]
        related = [(each.message, each.location.range.start.line + 1) for each in shown.related_information]
        assert related[: len(finding.because)] == [(step.text, step.start.line) for step in finding.because]


async def test_it_follows_what_is_typed_and_not_saved(server, folder):
    good = "from transformers import Trainer\n\n\nclass Mine(Trainer):\n    pass\n"
    path = written(folder / "mine.py", good)
    assert await server.open(path) == []
    bad = unmarked(BROKEN["unreduced_metric"])
    assert {each.code for each in await server.retype(path, bad)} == {"TRL003"}
    moved = await server.retype(path, "# one line more\n" + bad)
    assert [line for line, *_ in places(moved)] == [line for line, _ in marks(BROKEN["unreduced_metric"])]
    assert await server.retype(path, good) == []


async def test_it_knows_the_unsaved_text_of_other_open_documents(server, folder):
    base, mine = written(folder / "base.py", BASE), written(folder / "mine.py", MINE)
    await server.open(base)
    assert places(await server.open(mine))[0][-1] == "TRL003"
    server.type(base, BASE.replace("self.log(", "print("))
    assert await server.told_of(mine) == []


async def test_what_was_not_saved_is_gone_for_others_once_it_is_closed(server, folder):
    base, mine = written(folder / "base.py", BASE), written(folder / "mine.py", MINE)
    await server.open(base, BASE.replace("self.log(", "print("))
    assert await server.open(mine) == []
    server.close(base)
    assert {each.code for each in await server.told_of(mine)} == {"TRL003"}


async def test_a_text_that_is_no_python_says_so_and_nothing_else(server, folder):
    text = unmarked(BROKEN["item_before_gather"])
    path = written(folder / "broken.py", text)
    assert await server.open(path)
    (found,) = await server.retype(path, text + "def f(:\n")
    assert found.message.startswith("cannot parse: ") and found.code is None
    assert found.range.start.line == text.count("\n")
    assert await server.retype(path, text + "def f():\n    pass\n")


@pytest.mark.parametrize("name", BROKEN)
async def test_quick_fixes_one_by_one_end_where_fix_does(server, folder, name):
    path = written(folder / "broken.py", unmarked(BROKEN[name]))
    fixed = fixed_by_command_line(path)
    found = await server.open(path)
    for _ in range(10):  # a fix may reveal a finding that another one fixes
        offered = [each for one in found for each in await server.actions(path, [one], ["quickfix"])]
        chosen = next((each for each in offered if each.is_preferred), None)
        if chosen is None:
            break
        assert chosen.edit.changes
        found = await server.retype(path, server.after(path, chosen.edit))
    assert server.texts[path.as_uri()] == fixed
    assert fixed != path.read_text(encoding="utf-8")


async def test_fix_all_writes_what_fix_does_and_takes_no_unsafe_fix(server, folder):
    safe, unsafe = (unmarked(BROKEN[name]) for name in ("item_before_gather", "unreduced_metric"))
    path = written(folder / "both.py", safe + "\n\n" + unsafe.replace("from __future__ import annotations\n", ""))
    await server.open(path)
    (action,) = await server.actions(path, only=["source.fixAll"])
    assert action.kind == "source.fixAll.trl-lint"
    assert server.after(path, action.edit) == fixed_by_command_line(path)
    assert [each.kind for each in await server.actions(path, only=["source.organizeImports"])] == []


async def test_an_unsafe_fix_is_said_to_be_and_not_preferred(server, folder):
    found = []
    for path in sorted(FIXTURES.glob("*/broken*.py")):
        findings = trl_lint.check(path, Settings(select=("ALL",), root=path.parent))
        if any(each.fix and each.fix.applicability is Applicability.UNSAFE for each in findings):
            found = await server.open(written(folder / "unsafe.py", unmarked(path.read_text(encoding="utf-8"))))
            break
    offered = [each for one in found for each in await server.actions(folder / "unsafe.py", [one])]
    (unsafe, *_) = (each for each in offered if "(unsafe)" in each.title)
    assert not unsafe.is_preferred and ": " in unsafe.title and unsafe.edit.changes


@pytest.mark.parametrize(
    "line, silenced",
    [
        ("        self.show(loss.item())", "        self.show(loss.item())  # noqa: TRL003"),
        ("        self.show(loss.item())  # shown", "        self.show(loss.item())  # shown  # noqa: TRL003"),
        ("        self.show(loss.item())  # noqa: E501", "        self.show(loss.item())  # noqa: E501, TRL003"),
        (
            "        self.show(loss.item())  # noqa: E501  (as it is long)",
            "        self.show(loss.item())  # noqa: E501, TRL003  (as it is long)",
        ),
        (
            "        self.show(\\\n            loss.item())",
            "        self.show(\\\n            loss.item())  # noqa: TRL003",
        ),
    ],
)
async def test_a_finding_can_be_silenced(server, folder, line, silenced):
    written(folder / "base.py", BASE)
    text = MINE.replace("        self.show(loss.item())", line)
    path = written(folder / "mine.py", text)
    found = await server.open(path)
    (action,) = [each for each in await server.actions(path, found) if "noqa" in each.title]
    after = server.after(path, action.edit)
    assert after == text.replace(line, silenced)
    assert not action.is_preferred
    assert await server.retype(path, after) == []


async def test_a_finding_in_documentation_is_silenced_behind_its_string(server, folder):
    (folder / "pyproject.toml").write_text(f'{ALL}extend-include = ["*.md"]\n')
    code = 'print(accelerator.gather(loss.item()), """ some\n> text""")\n'
    head = "> ```python\n> from accelerate import Accelerator\n> accelerator = Accelerator()\n"
    text = f"{head}> loss = accelerator.prepare(make())(1).loss\n> {code}> ```\n"
    path = written(folder / "a.md", text)
    found = await server.open(path)
    (action,) = [each for each in await server.actions(path, found) if "noqa" in each.title]
    after = server.after(path, action.edit)
    assert after == text.replace('text""")', 'text""")  # noqa: TRL001')
    assert await server.retype(path, after) == []


async def test_no_action_is_for_another_text_than_there_is(server, folder):
    path = written(folder / "broken.py", unmarked(BROKEN["item_before_gather"]))
    found = await server.open(path)
    assert found[0].data["fix"] == {"title": "Pass a tensor to `gather_for_metrics`", "safe": True}
    server.type(path, "# a line above\n" + path.read_text(encoding="utf-8"))
    offered = await server.actions(path, found[:1])
    for action in offered:  # created for the current text, if there is any
        after = server.after(path, action.edit)
        assert after.startswith("# a line above\n")
        compile(after, "broken.py", "exec")


async def test_a_name_tells_its_fact_and_why(server, folder):
    path = written(folder / "mine.py", MINE)
    written(folder / "base.py", BASE)
    await server.open(path)
    shown = await server.hover(path, 6, MINE.splitlines()[6].index("loss"))
    assert shown.startswith("`loss`: differs between ranks") and "line 5: `inputs` is this rank's own data" in shown
    # If there is a finding, its rule is shown, too.
    assert "unreduced-metric (TRL003)" in shown
    assert await server.hover(path, 1, 0) == ""


async def test_a_code_in_a_comment_tells_its_rule(server, folder):
    path = written(folder / "mine.py", "x = 1  # noqa: E501, TRL003 item-before-gather\n")
    await server.open(path)
    for word in ("TRL003", "item-before-gather"):
        shown = await server.hover(path, 0, path.read_text(encoding="utf-8").index(word) + 2)
        assert shown.startswith("# " if word.startswith("item") else "# unreduced-metric (TRL003)")
    assert await server.hover(path, 0, 16) == ""


async def test_settings_are_read_again_and_bad_ones_leave_the_last_good_in_force(server, folder):
    path = written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    settings = folder / "pyproject.toml"
    assert await server.open(path)
    written(settings, '[tool.trl-lint]\nignore = ["TRL003"]\n')
    server.save(settings)
    assert await server.told_of(path) == []
    written(settings, '[tool.trl-lint]\nselekt = ["TRL003"]\n')
    waiting = server.client.wait_for_notification(types.WINDOW_SHOW_MESSAGE)
    server.save(settings)
    said = await asyncio.wait_for(waiting, SECONDS)
    assert "unknown key `selekt`" in said.message and said.type == types.MessageType.Error
    assert await server.retype(path, path.read_text(encoding="utf-8") + "\n") == []
    written(settings, ALL)
    server.changed(settings)
    assert await server.told_of(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("more/base.toml", '[tool.trl-lint]\nignore = ["TRL003"]\n'),
        (".gitignore", "broken.py\n"),
    ],
)
async def test_what_the_settings_reach_is_read_again(server, folder, name, text):
    (folder / ".git").mkdir()
    (folder / "more").mkdir()
    written(folder / "more" / "base.toml", "[tool.trl-lint]\n")
    written(folder / "pyproject.toml", f'{ALL}extend = "more/base.toml"\n')
    path = written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    assert await server.open(path)
    server.changed(written(folder / name, text))
    assert await server.told_of(path) == []


SAVES = """from accelerate import Accelerator


def main(model):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        accelerator.save_state("there")
"""


async def test_what_says_how_it_is_launched_is_read_again(server, folder):
    written(folder / "fsdp.yaml", "distributed_type: MULTI_GPU\n")
    path = written(folder / "saves.py", SAVES)
    assert await server.open(path) == []
    server.changed(written(folder / "fsdp.yaml", "distributed_type: FSDP\nfsdp_config: {}\n"))
    assert {each.code for each in await server.told_of(path)} == {"TRL016"}


async def test_an_editor_watches_all_that_a_look_depends_on(tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    written(outside / "base.toml", "[tool.trl-lint]\nselect = ['ALL']\n")
    written(inside / "trl-lint.toml", 'extend = "../outside/base.toml"\nbaseline = "known"\n')
    written(inside / "known", '{"trl-lint-baseline": 1, "paths": ["."], "findings": {}}')
    path = written(inside / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    watching = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True, relative_pattern_support=True)
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=watching)
    async with editor(types.ClientCapabilities(workspace=workspace), folder=inside) as other:
        await other.open(path)
        first, second = [
            [watcher["globPattern"] for watcher in each.register_options["watchers"]] for each in other.registered
        ]
    names = "x.py x.YAML x.json x.ipynb run.sh Makefile Dockerfile.gpu requirements.txt any.toml"
    for name in names.split():
        assert any(PurePath(name).match(pattern.removeprefix("**/")) for pattern in first), name
    assert not any(PurePath("x.csv").match(pattern.removeprefix("**/")) for pattern in first)
    assert second == [
        {"baseUri": inside.as_uri(), "pattern": "known"},
        {"baseUri": outside.as_uri(), "pattern": "base.toml"},
    ]


async def test_what_a_baseline_knows_is_not_told(server, folder):
    path = written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    command = [sys.executable, "-m", "trl_lint", "--baseline", "known.json", "--write-baseline", "."]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    known = folder / "known.json"
    before = known.read_text(encoding="utf-8")
    written(folder / "pyproject.toml", f'{ALL}baseline = "known.json"\n')
    assert await server.open(path) == []
    written(known, '{"trl-lint-baseline": 1, "paths": ["."], "findings": {}}')
    server.changed(known)
    assert {each.code for each in await server.told_of(path)} == {"TRL003"}
    written(known, before)
    server.changed(known)
    assert await server.told_of(path) == []
    waiting = server.client.wait_for_notification(types.WINDOW_SHOW_MESSAGE)
    written(known, "{")
    server.changed(known)
    assert "not a baseline of trl-lint" in (await asyncio.wait_for(waiting, SECONDS)).message


async def test_what_the_settings_exclude_is_left_alone(server, folder):
    written(folder / "pyproject.toml", '[tool.trl-lint]\nexclude = ["old"]\n')
    (folder / "old").mkdir()
    path = written(folder / "old" / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    assert await server.open(path) == []
    assert await server.actions(path, only=["source.fixAll"]) == []


async def test_a_document_that_is_closed_has_no_diagnostics_any_more(server, folder):
    path = written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    assert await server.open(path)
    waiting = server.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    server.close(path)
    told = await asyncio.wait_for(waiting, SECONDS)
    assert (told.uri, list(told.diagnostics)) == (path.as_uri(), [])


LOGGED = MINE.replace("self.show(loss.item())", '"𝕏é"; self.show(loss.item())')


async def test_columns_are_counted_as_was_agreed(server, folder):
    """A character may be one or two UTF-16 units, and up to four bytes; a form feed ends no line."""
    text = LOGGED.replace("class", "\x0c\nclass", 1)
    written(folder / "base.py", BASE)
    path = written(folder / "mine.py", text)
    (plain,) = await server.open(path)
    before = text.splitlines()[plain.range.start.line].partition("self.show")[0]
    offered = await server.actions(path, [plain])
    silenced = server.after(path, next(each for each in offered if "noqa" in each.title).edit)
    assert silenced == text.replace("item())", "item())  # noqa: TRL003")
    seen = {}
    for encoding in types.PositionEncodingKind:
        general = types.GeneralClientCapabilities(position_encodings=[encoding])
        async with editor(types.ClientCapabilities(general=general)) as other:
            assert other.told.capabilities.position_encoding == encoding
            (found,) = await other.open(path)
            seen[encoding] = found.range.start.character - plain.range.start.character
            assert found.range.start.line == plain.range.start.line
    assert seen[types.PositionEncodingKind.Utf16] == 0
    assert before
    assert seen[types.PositionEncodingKind.Utf32] == -1
    assert seen[types.PositionEncodingKind.Utf8] == 3


async def test_an_editor_that_asks_for_diagnostics_is_sent_none(folder):
    path = written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    document = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    async with editor(types.ClientCapabilities(text_document=document)) as other:
        other.versions[path.as_uri()] = 1
        item = types.TextDocumentItem(path.as_uri(), "python", 1, path.read_text(encoding="utf-8"))
        other.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        assert {each.code for each in await other.pulled(path)} == {"TRL003"}
        other.type(path, "import torch\n")
        assert await other.pulled(path) == []
        assert other.client.diagnostics == {}


CRASHING = """
import sys
from trl_lint.rules.unreduced_metric import UnreducedMetric
UnreducedMetric.check = lambda self, event: 1 / 0
from trl_lint.frontends.server.command import server
server(sys.argv[1:])
"""


async def test_a_rule_that_fails_is_said_and_ends_nothing(folder):
    path = written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    other = written(folder / "other.py", unmarked(BROKEN["item_before_gather"]))
    async with editor(command=(sys.executable, "-c", CRASHING)) as crashing:
        assert await crashing.open(path) == []
        (said,) = crashing.client.messages
        assert "internal error: ZeroDivisionError" in said.message
        assert "TRL001" in {each.code for each in await crashing.open(other)}


WITH_A_PLUGIN = """
import sys
sys.path.insert(0, {!r})
from trl_lint.frontends.server.command import server
server(sys.argv[1:])
"""
ODD = """from accelerate.utils import broadcast


def main(loss):
    broadcast(loss, from_process=1)
    broadcast(loss, from_process=2)  # noqa: TRL801
"""


async def test_the_rule_of_a_plugin_is_told_as_well(folder, tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    example = FIXTURES.parent / "docs" / "examples" / "plugin"
    shutil.copytree(example / "our_rules", site / "our_rules")
    about = site / "our_rules-1.dist-info"
    about.mkdir()
    written(about / "METADATA", "Metadata-Version: 2.1\nName: our-rules\nVersion: 1\n")
    written(about / "entry_points.txt", "[trl_lint.plugins]\nour-rules = our_rules\n")
    written(folder / "pyproject.toml", '[tool.trl-lint]\nplugins = ["our-rules"]\n')
    path = written(folder / "odd.py", ODD)
    async with editor(command=(sys.executable, "-c", WITH_A_PLUGIN.format(str(site)))) as other:
        (found,) = await other.open(path)
        assert found.code == "TRL801"
        on_the_finding = await other.hover(path, found.range.start.line, found.range.start.character)
        in_the_comment = await other.hover(path, 5, ODD.splitlines()[5].index("TRL801"))
    assert "odd-root (TRL801)" in on_the_finding
    assert in_the_comment.startswith("# odd-root (TRL801)")


FORGETFUL = """
import sys
from trl_lint.analysis.interprocedural.rerunning import RerunEngine
RerunEngine.analyse_again = lambda self, module, change: []
from trl_lint.frontends.server.command import server
server(sys.argv[1:])
"""


# Another document is typed meanwhile.
INTERRUPTED = """
from trl_lint.frontends.server import app
lint, before = app.lint, []
def interrupted(*given, afresh=False):
    if afresh and not before:
        before.append(given)
        raise app.Interrupted
    return lint(*given, afresh=afresh)
app.lint = interrupted
"""


@pytest.mark.parametrize("program", [FORGETFUL, INTERRUPTED + FORGETFUL])
async def test_what_was_looked_at_in_part_is_looked_at_whole_once_nobody_types(folder, program):
    text = unmarked(BROKEN["item_before_gather"])
    path = written(folder / "broken.py", text)
    async with editor(command=(sys.executable, "-c", program)) as forgetful:
        found = await forgetful.open(path)
        assert await forgetful.retype(path, text.replace("        return ", "        prin\n        return ", 1)) == []
        assert [each.code for each in await forgetful.told_of(path)] == [each.code for each in found] != []


async def test_without_its_library_it_says_what_to_install():
    program = "import sys; sys.modules['pygls'] = None; from trl_lint.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "server"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "trl-lint: the language server needs `pip install 'trl-lint[lsp]'`\n"


async def test_linting_imports_nothing_of_it(folder):
    written(folder / "broken.py", unmarked(BROKEN["unreduced_metric"]))
    program = "import sys; from trl_lint.frontends.cli import main; main(sys.argv[1:], standalone_mode=False)"
    command = [sys.executable, "-X", "importtime", "-c", program, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "TRL003" in done.stdout
    assert not {"pygls", "lsprotocol", "asyncio", "trl_lint.frontends.server"} & {
        line.rpartition("|")[2].strip() for line in done.stderr.splitlines()
    }
