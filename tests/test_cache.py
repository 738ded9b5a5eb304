"""Results of earlier runs: a lookup returns what an analysis would find, and whatever changes is analysed again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from forks import module

from trl_lint import findings
from trl_lint.frontends.cli import main
from trl_lint.linter.cached_linter import CachedLinter
from trl_lint.linter.execution.engines import ProjectEngines
from trl_lint.linter.files.callers import CallerSearch
from trl_lint.linter.store import content_cache, rule_cards, tool
from trl_lint.linter.store.cache import FOLDER, MAX_ENTRIES, Cache, folder_of
from trl_lint.linter.store.dependencies import NOTHING, OTHER, Dependencies, kinds_of
from trl_lint.rules import all_rules
from trl_lint.rules.cards import cards
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parents[1] / "fixtures"
# The finding in `mine.py` can only be found with its base class.
BASE = """from transformers import Trainer


class BaseTrainer(Trainer):
    def show(self, value):
        self.log({"loss": value})
"""
SILENT_BASE = BASE.replace("self.log", "print")
MINE = """from base import BaseTrainer


class MyTrainer(BaseTrainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
        self.show(loss.item())
        return loss
"""
GATHER = """from accelerate import Accelerator

accelerator = Accelerator()


def total(loss):
    return accelerator.gather(loss.item())
"""
# A program with a safe fix.
FIXABLE = (FIXTURES / "item_before_gather" / "broken.py").read_text(encoding="utf-8")
# The output of `trl-lint mine.py`, in short.
FOUND, SILENT = ["mine.py:7:9: TRL003"], []


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch) -> Path:
    """A current folder with a trainer, its base class and an irrelevant file; results are cached."""
    monkeypatch.chdir(tmp_path)
    for name in ("TRL_LINT_NO_CACHE", "TRL_LINT_CACHE_DIR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    write(tmp_path, base=BASE, mine=MINE, harmless="print('no trainer here')\n")
    return tmp_path


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def run(*args: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main, list(args))
    return done.exit_code, done.stdout, done.stderr


def lint(*args: str) -> list[str]:
    """Place and code of what is found."""
    code, out, err = run("--output-format=concise", *args)
    assert (code in (0, 1), err) == (True, "")
    return [" ".join(line.split()[:2]) for line in out.splitlines() if ": TRL" in line]


def entries(folder: Path, kind: str = "*") -> list[Path]:
    return sorted((folder / FOLDER).glob(f"trl-lint-{kind}-*.json"))


def python(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, check=False, **options)


# The same output, at less cost


def test_what_one_process_has_kept_another_one_finds(project):
    """The order of sets differs between processes; the key of a project must not."""
    imports = "".join(f"import module_{number}\n" for number in range(20))
    write(project, loop=f"{imports}{GATHER}", start="import os\nos.system('accelerate launch loop.py')\n")
    (project / "run.sh").write_text("accelerate launch --use_fsdp --config_file a.yaml loop.py\n")
    (project / "mine.py").write_text((FIXTURES / "sharded_save_on_one_rank" / "broken.py").read_text())
    script = (
        "import sys; from trl_lint.frontends.cli import main; from trl_lint.linter.linter import Linter\n"
        "Linter.analyse = lambda *_: print('analysed', file=sys.stderr)\n"
    )
    run("--output-format=concise", "--select=ALL", ".")
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = python("-c", f"{script}main(['--select=ALL', '.'])", env=environment)
        assert (done.returncode, done.stderr) == (1, "")
        assert "TRL016" in done.stdout


# The first trainer of each rule that is broken, and its loop.
FIRST = [path for name in ("broken", "broken_loop") for path in sorted(FIXTURES.glob(f"*/{name}.py"))]


@pytest.mark.parametrize(
    ("output", "paths"),
    [
        pytest.param("text", [FIXTURES], id="text", marks=pytest.mark.slow),
        pytest.param("json", [FIXTURES], id="json", marks=pytest.mark.slow),
        pytest.param("json", FIRST, id="json, some"),
    ],
)
def test_what_is_looked_up_is_what_was_found(project, analyses, output, paths):
    """Byte for byte: every kind of finding, chain and fix, of all fixtures in the slow ones.

    Of copies: where the fixtures are, each run would read the whole repository for what starts them.
    """
    shutil.copytree(FIXTURES, project / "fixtures")
    copies = [project / "fixtures" / path.relative_to(FIXTURES) for path in paths]
    args = ("--isolated", f"--output-format={output}", *map(str, copies))
    fresh = run(*args, "--no-cache")
    assert "TRL001" in fresh[1] and "TRL002" in fresh[1] and "TRL003" in fresh[1]
    assert [run(*args), run(*args)] == [fresh, fresh]
    assert len(analyses) == 2  # the fresh one and the first of the others


def test_edits_are_there_when_they_are_asked_for(project, analyses):
    write(project, mine=FIXABLE)
    run("mine.py")
    rows = [json.loads(run("--output-format=json", "mine.py")[1]) for _ in range(2)]
    assert rows[0] == rows[1]
    assert rows[0][0]["fix"]["edits"]
    assert len(analyses) == 2


def test_findings_with_all_they_hold_are_kept(project):
    """Equality of findings ignores the edits, so these are compared as well."""
    files = [(path, path.read_bytes()) for path in FIRST]
    asked = Settings(), (FIXTURES,), all_rules()
    fresh, *looked_up = (CachedLinter(*asked, Cache(project / FOLDER), edits=True) for _ in range(2))
    found: list[list[findings.Finding]] = []
    for linter in (fresh, *looked_up):
        linter.prepare(files)
        matter = [(path, source) for path, source in files if linter.may_matter(source)]
        found.append([each for path, source in matter for each in linter.check(path, source)])
    assert found[0] == found[1]
    assert looked_up[0]._project is None
    edits = [[each.fix.edits() for each in side if each.fix] for side in found]
    assert edits[0] == edits[1]
    assert any(edits[0])


# What only an analysis needs: it takes longer to import than all that a lookup does.
HEAVY = """
libcst markdown_it msgspec pathspec rich ruamel tree_sitter tempfile torch
trl_lint.analysis.events trl_lint.analysis.program.project.import_search trl_lint.domain trl_lint.fixes
trl_lint.knowledge.library trl_lint.knowledge.schema trl_lint.launch.commands
trl_lint.linter.comments.suppressions trl_lint.linter.execution.engines trl_lint.linter.locate
trl_lint.linter.suppression.unused_noqa trl_lint.rules.base
"""
LOOK = """
import sys
from {module} import main
try: main()
finally: print([name for name in {names} if name in sys.modules], file=sys.stderr)
"""


# flake8 itself asks for the metadata of its plugins, which imports this.
@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("trl_lint.frontends.cli", [*HEAVY.split(), "importlib.metadata"]),
        ("flake8.main.cli", [each for each in HEAVY.split() if each != "tempfile"]),
    ],
)
def test_what_is_looked_up_costs_no_import(module, names):
    first, second = (python("-c", LOOK.format(module=module, names=names), "mine.py") for _ in range(2))
    assert "TRL003" in first.stdout
    assert first.stdout == second.stdout
    assert "libcst" in first.stderr
    assert second.stderr == "[]\n"


def test_the_rules_are_known_without_importing_them(project):
    """The command line, comments and settings mean the same in a run that imports no rule."""
    change(project, "pyproject.toml", "[tool.trl-lint]\nper-file-ignores = {'base.py' = ['unreduced-metric']}\n")
    change(project, "mine.py", f"{MINE}x = 1  # noqa: TRL001, unreduced-metrics\n")
    first, second = (
        python("-c", LOOK.format(module="trl_lint.frontends.cli", names=["libcst"]), ".") for _ in range(2)
    )
    assert "`TRL001` in `# noqa` silences nothing" in first.stdout
    assert "did you mean `unreduced-metric`?" in first.stdout
    assert first.stdout == second.stdout
    assert second.stderr == "[]\n"
    wrong = python("-m", "trl_lint", "--select=unreduced-metrics", ".")
    assert "unknown rule `unreduced-metrics`; did you mean `unreduced-metric`?" in wrong.stderr


def test_the_cards_of_the_rules_are_stored_as_they_are(project):
    kept = Cache(project / FOLDER)
    rule_cards.store(kept, ())
    (stored,) = (kept.load(path.stem.removeprefix("trl-lint-")) for path in entries(project, "rules"))
    assert rule_cards.read(stored) == cards() == tuple(rule.card for rule in all_rules())
    assert [card.rule() for card in cards()] == list(all_rules())


@pytest.mark.parametrize("content", [None, {}, [], [["a"]], [["a", "b", "c", ["d"], True, "e"]], "x"])
def test_cards_that_are_none_are_not_used(content):
    assert rule_cards.read(content) == ()


def test_what_is_known_not_to_matter_is_not_looked_through_again(monkeypatch):
    fresh = lint(".")

    def refuse(source):
        raise AssertionError("looked through again")

    monkeypatch.setattr("trl_lint.linter.files.prefilter.code_of", refuse)
    assert lint(".") == fresh


# What is a miss


def change(folder: Path, path: str, text: str) -> None:
    (folder / path).parent.mkdir(exist_ok=True, parents=True)
    (folder / path).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("mine.py", MINE.replace("loss.item()", "1"), SILENT),
        ("base.py", SILENT_BASE, SILENT),
        ("base/__init__.py", SILENT_BASE, SILENT),
        ("transformers.py", "class Trainer:\n    pass\n", FOUND),  # analysed again, with the same result
        ("pyproject.toml", "[tool.trl-lint]\nignore = ['TRL003']\n", SILENT),
        ("pyproject.toml", "[tool.trl-lint]\nreducers = { 'base.BaseTrainer.show' = 'mean' }\n", SILENT),
        ("pyproject.toml", "[tool.trl-lint]\nper-file-ignores = { 'mine.py' = ['TRL003'] }\n", SILENT),
    ],
)
def test_a_change_is_seen(project, analyses, path, text, found):
    assert lint("mine.py") == lint("mine.py") == FOUND
    change(project, path, text)
    assert lint("mine.py") == lint("mine.py") == found
    assert len(analyses) == 2


@pytest.mark.parametrize("path", ["base.py", "base/__init__.py", "src/base.py", "sub/../base.py"])
def test_what_is_new_is_seen(project, analyses, path):
    (project / "base.py").unlink()
    assert lint("mine.py") == lint("mine.py") == SILENT
    change(project, path, BASE)
    assert lint("mine.py") == lint("mine.py") == FOUND
    assert len(analyses) == 2


def test_what_is_gone_is_seen(project, analyses):
    assert lint("mine.py") == FOUND
    (project / "base.py").unlink()
    assert lint("mine.py") == SILENT
    write(project, base=BASE)
    assert lint("mine.py") == FOUND
    assert len(analyses) == 3


def test_what_another_file_of_the_run_means_is_seen(project, analyses):
    helpers = "from accelerate import Accelerator\n\n\ndef total(accelerator: Accelerator, value):\n"
    helpers += "    accelerator.log({'x': value.float().mean().item()})\n"
    loop = "from accelerate import Accelerator\nfrom helpers import total\n\naccelerator = Accelerator()\n"
    loop += "model, loader = accelerator.prepare(model, loader)\nfor batch in loader:\n    "
    write(project, helpers=helpers, loop=loop + "total(accelerator, model(**batch).loss)\n")
    assert lint("helpers.py", "loop.py") == lint("helpers.py", "loop.py") == ["helpers.py:5:5: TRL003"]
    assert lint("helpers.py") == lint("helpers.py") == ["helpers.py:5:5: TRL003"]
    write(project, loop=loop + "total(accelerator, accelerator.gather(model(**batch).loss))\n")
    assert lint("helpers.py", "loop.py") == lint("helpers.py") == lint("helpers.py") == SILENT
    assert len(analyses) == 4


def test_a_new_caller_is_seen(project, analyses):
    write(project, helpers="def write(rows):\n    open('rows.txt', 'w').write(rows)\n\n\nimport accelerate\n")
    assert lint("helpers.py") == lint("helpers.py") == SILENT
    program = "from accelerate import Accelerator\nfrom helpers import write\n\naccelerator = Accelerator()\n"
    write(project, program=program + "write('x')\n")
    assert lint("helpers.py") == lint("helpers.py") == ["helpers.py:2:5: TRL008"]
    (project / "program.py").unlink()
    assert lint("helpers.py") == SILENT
    assert len(analyses) == 3


def test_what_does_not_matter_is_found_out_once(project, analyses, monkeypatch):
    """If another file of the project changes, callers and engines are worked out again, and the answer is stored."""
    assert lint("mine.py") == FOUND
    write(project, other="print('nor here')\n")
    change(project, "notes.md", "Nothing is started.\n")
    assert lint("mine.py") == FOUND
    assert len(analyses) == 1

    def refuse(*args):
        raise AssertionError("worked out again")

    monkeypatch.setattr(CallerSearch, "callers", refuse)
    monkeypatch.setattr(ProjectEngines, "answer", refuse)
    assert lint("mine.py") == FOUND
    write(project, other="print('changed')\n")
    assert "worked out again" in run("mine.py")[2]


@pytest.mark.parametrize(
    ("args", "found"),
    [
        (("--select=TRL001",), SILENT),
        (("--ignore=TRL003",), SILENT),
        (("--per-file-ignores=mine.py:TRL003",), SILENT),
        (("--isolated",), FOUND),
    ],
)
def test_what_is_asked_for_counts(project, args, found):
    change(project, "pyproject.toml", "[tool.trl-lint]\ntarget-transformers = '5.0.0'\n")
    for _ in range(2):
        assert lint("mine.py") == FOUND
        assert lint("mine.py", *args) == found


def test_an_installed_release_counts(project, analyses, monkeypatch):
    assert lint("mine.py") == lint("mine.py") == FOUND
    for release, count in (("4.40.0", 2), ("5.0.0", 3), ("5.0.0", 3)):
        place = project / f"site-{release}"
        change(place, f"transformers-{release}.dist-info/METADATA", f"Name: transformers\nVersion: {release}\n")
        monkeypatch.syspath_prepend(str(place))
        assert lint("mine.py") == FOUND
        assert len(analyses) == count


def test_the_tool_counts(analyses, monkeypatch):
    assert lint("mine.py") == FOUND
    monkeypatch.setattr(tool, "tool_key", lambda: "another one")
    assert lint("mine.py") == lint("mine.py") == FOUND
    assert len(analyses) == 2


def test_every_edit_of_the_tool_makes_another_one(project, monkeypatch):
    """While the tool is being developed, it never uses results of its previous version."""
    package = project / "trl_lint"
    change(package, "linter/store/tool.py", "")
    change(package, "analysis/engine.py", "x = 1\n")
    monkeypatch.setattr(tool, "__file__", str(package / "linter" / "store" / "tool.py"))
    seen = [tool.tool_key.__wrapped__()]
    change(package, "analysis/engine.py", "x = 12\n")
    seen.append(tool.tool_key.__wrapped__())
    os.utime(package / "analysis" / "engine.py", (1, 1))
    seen.append(tool.tool_key.__wrapped__())
    monkeypatch.setattr(tool, "__version__", "9.9.9")
    seen.append(tool.tool_key.__wrapped__())
    monkeypatch.setattr(sys, "version", "4.0")
    seen.append(tool.tool_key.__wrapped__())
    assert len(set(seen)) == 5
    assert tool.tool_key.__wrapped__() == seen[-1]


# What is no miss


def test_what_makes_no_difference(project, analyses):
    fresh = lint(".")
    assert fresh == FOUND
    os.utime(project / "mine.py", (1, 1))
    write(project, harmless="print('changed')\n", new="print('new')\n")
    change(project, "notes.txt", "new")
    assert lint(".") == lint(".", "--output-format=concise") == fresh
    assert len(analyses) == 1


def test_the_order_of_files_does_not_matter(analyses):
    assert lint("base.py", "mine.py") == lint("mine.py", "base.py") == FOUND
    assert len(analyses) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="names are text here")
def test_names_that_are_no_text(project, analyses):
    os.rename(b"mine.py", b"m\xff.py")
    said = [run("--output-format=json", ".") for _ in range(2)]
    assert said[0] == said[1]
    assert r"m\ufffd.py" in said[0][1]
    assert len(analyses) == 1


def test_where_one_stands_does_not_matter(project, analyses, monkeypatch):
    change(project, "pyproject.toml", "")
    change(project, "sub/x.py", GATHER)
    assert lint("sub") == ["sub/x.py:7:12: TRL001"]
    monkeypatch.chdir(project / "sub")
    assert lint(".") == ["x.py:7:12: TRL001"]
    assert len(analyses) == 1


# Comments


def test_comments_are_read_each_time(project):
    """flake8 can be told to ignore them, and shares the results."""
    write(project, mine=MINE.replace("show(loss.item())", "show(loss.item())  # noqa"))
    assert lint("mine.py") == lint("mine.py") == SILENT
    shown = module("flake8", "--select=TRL", "--disable-noqa", "mine.py")
    assert shown.stdout.startswith("mine.py:7:9: TRL003")
    assert module("flake8", "--select=TRL", "mine.py").stdout == ""
    assert len(entries(project, "run")) == 1


# What can't be analysed


def test_what_can_not_be_parsed_is_said_each_time(project, analyses):
    write(project, bad=f"{GATHER}\n(((\n")
    said = [run("--output-format=concise", ".", "gone.py") for _ in range(2)]
    assert said[0] == said[1]
    assert said[0][0] == 2
    assert said[0][2] == "bad.py:9:3: cannot parse: '(' was never closed\ngone.py: no such file or directory\n"
    assert "mine.py:7:9: TRL003" in said[0][1]
    assert len(analyses) == 1


def test_what_the_tool_failed_on_is_tried_again(project, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("trl_lint.linter.locate.located", lambda *args: {}["no"])
        code, _, err = run("mine.py")
    assert (code, "internal error: KeyError" in err) == (2, True)
    assert not entries(project, "run")
    assert lint("mine.py") == FOUND


def test_edits_that_can_not_be_built_are_tried_again(project, monkeypatch):
    write(project, mine=FIXABLE)
    with monkeypatch.context() as patched:
        patched.setattr("trl_lint.linter.locate._edits", lambda *args: {}["no"])
        code, _, err = run("--output-format=json", "mine.py")
    assert (code, "internal error: KeyError" in err) == (2, True)
    assert not entries(project, "run")
    assert json.loads(run("--output-format=json", "mine.py")[1])[0]["fix"]["edits"]


# What is not kept


def test_fixes_diffs_and_standard_input_are_not_kept(project):
    write(project, mine=FIXABLE)
    run("--diff", "mine.py")
    CliRunner().invoke(main, ["-"], input=FIXABLE)
    module("flake8", "-", stdin=FIXABLE.encode())
    run("--fix", "mine.py")
    assert not (project / FOLDER).exists()
    assert lint("mine.py") == []


def test_a_fix_is_made_whatever_was_kept(project):
    write(project, mine=FIXABLE)
    assert lint("mine.py") == ["mine.py:14:37: TRL001"]
    assert run("--fix", "mine.py")[0] == 0
    assert (project / "mine.py").read_text() != FIXABLE
    assert lint("mine.py") == []


# Where


def test_the_folder_is_marked(project):
    lint("mine.py")
    kept = project / FOLDER
    assert (kept / ".gitignore").read_text().splitlines()[-1] == "*"
    assert (kept / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert len(entries(project)) == 5


def test_it_lies_beside_the_project_file(project, monkeypatch):
    change(project, "pyproject.toml", "")
    change(project, "sub/x.py", GATHER)
    monkeypatch.chdir(project / "sub")
    lint("x.py")
    module("flake8", "x.py")
    assert entries(project, "run")
    assert not (project / "sub" / FOLDER).exists()


@pytest.mark.parametrize("off", [{"TRL_LINT_NO_CACHE": "1"}, {}])
def test_no_cache(project, monkeypatch, analyses, off):
    lint("mine.py")
    for name, value in off.items():
        monkeypatch.setenv(name, value)
    before = entries(project)
    assert lint("mine.py", *["--no-cache"] * (not off)) == FOUND
    write(project, mine="\n" + MINE)
    assert lint("mine.py", *["--no-cache"] * (not off)) == ["mine.py:8:9: TRL003"]
    assert entries(project) == before
    assert len(analyses) == 3


def test_flake8_can_be_told_by_the_environment(project, monkeypatch):
    monkeypatch.setenv("TRL_LINT_CACHE_DIR", "elsewhere")
    module("flake8", "mine.py")
    assert len(list((project / "elsewhere").glob("trl-lint-run-*"))) == 1
    monkeypatch.setenv("TRL_LINT_NO_CACHE", "1")
    module("flake8", "base.py")
    assert len(list((project / "elsewhere").glob("trl-lint-run-*"))) == 1
    assert not (project / FOLDER).exists()


def test_the_more_special_word_says_where(project, monkeypatch):
    settings = Settings(root=project / "top")
    monkeypatch.delenv("TRL_LINT_CACHE_DIR", raising=False)
    assert folder_of(settings) == project / "top" / FOLDER
    assert folder_of(Settings()) == project / FOLDER
    settings = Settings(root=project / "top", cache_dir="kept")
    assert folder_of(settings) == project / "top" / "kept"
    monkeypatch.setenv("TRL_LINT_CACHE_DIR", "here")
    assert folder_of(settings) == project / "here"
    assert folder_of(settings, Path("/given")) == Path("/given")


def test_the_settings_and_the_option_say_where(project):
    change(project, "pyproject.toml", "[tool.trl-lint]\ncache-dir = 'a/b'\n")
    lint("mine.py")
    lint("mine.py", "--cache-dir=c")
    assert [sorted(path.name[:12] for path in (project / name).glob("*.json")) for name in ("a/b", "c")] == [
        ["trl-lint-gat", "trl-lint-las", "trl-lint-loo", "trl-lint-rul", "trl-lint-run"]
    ] * 2


def test_a_folder_of_the_users_is_left_as_it_is(project):
    change(project, "own/notes.json", "{}")
    assert lint("mine.py", "--cache-dir=own") == FOUND
    names = {path.name for path in (project / "own").iterdir()}
    assert len(names) == 6
    assert not names & {".gitignore", "CACHEDIR.TAG"}
    assert run("clean", "--cache-dir=own") == (0, "", "")
    assert [path.name for path in (project / "own").iterdir()] == ["notes.json"]


def test_clean(project):
    assert run("clean") == (0, "", "")
    lint("mine.py")
    assert (project / FOLDER).is_dir()
    assert run("clean") == (0, "", "")
    assert not (project / FOLDER).exists()


# What may go wrong on the disk


def whole(content: bytes) -> bytes:
    """An entry with a valid checksum."""
    from trl_lint.linter.store.cache import digest

    return f'"{digest(content)}"\n'.encode() + content


@pytest.mark.parametrize(
    "content",
    [
        lambda old: b"",
        lambda old: old[: len(old) // 2],
        lambda old: old.replace(b"TRL003", b"TRL004"),
        lambda old: old.partition(b"\n")[2],
        lambda old: b"\xff\0" * 100,
        lambda old: b"[" * 100_000,
        lambda old: whole(b"[]"),
        lambda old: whole(b"3"),
        lambda old: whole(b'{"files": {"mine.py": 3}, "dependencies": {}}'),
        lambda old: whole(old.partition(b"\n")[2].replace(b'"kinds"', b'"kind"')),
        lambda old: whole(old.partition(b"\n")[2].replace(b'"start"', b'"begin"')),
    ],
)
def test_a_damaged_entry_is_none(project, analyses, content):
    assert lint("mine.py") == FOUND
    for entry in entries(project):
        before = entry.read_bytes()
        entry.write_bytes(content(before))
        assert entry.read_bytes() != before or "run" not in entry.name
    assert lint("mine.py") == FOUND
    assert len(analyses) == 2
    assert lint("mine.py") == FOUND
    assert len(analyses) == 2


def test_a_place_where_no_folder_can_be(project):
    change(project, FOLDER, "a file")
    assert lint("mine.py") == lint("mine.py") == FOUND
    assert (project / FOLDER).read_text() == "a file"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_can_not_be_written(project):
    project.chmod(0o555)
    try:
        assert lint("mine.py") == lint("mine.py") == FOUND
    finally:
        project.chmod(0o755)
    assert not (project / FOLDER).exists()


@pytest.mark.parametrize("name", ["mkstemp", "replace", "mkdir", "iterdir", "unlink"])
def test_a_disk_that_refuses(project, monkeypatch, name):
    def refuse(*args, **options):
        raise OSError(28, "No space left on device")

    lint("mine.py")
    owner = {"mkstemp": "tempfile", "replace": "os"}.get(name, "pathlib.Path")
    monkeypatch.setattr(f"{owner}.{name}", refuse)
    write(project, mine="\n" + MINE)
    assert lint("mine.py") == ["mine.py:8:9: TRL003"]
    monkeypatch.undo()
    assert not list((project / FOLDER).glob("*.tmp"))


def test_several_processes_at_once(project, analyses):
    command = [sys.executable, "-m", "trl_lint", "--output-format=concise", "."]
    several = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    said = [process.communicate() for process in several]
    assert len(set(said)) == 1
    assert said[0][0].startswith(b"mine.py:7:9: TRL003")
    assert said[0][1] == b""
    assert len(entries(project)) == 5
    assert not list((project / FOLDER).glob("*.tmp"))
    assert lint(".") == FOUND
    assert not analyses


def test_entries_are_bounded_in_number(tmp_path):
    kept = Cache(tmp_path / "kept")
    for number in range(MAX_ENTRIES + 6):
        kept.save(f"run-{number}", {"number": number})
        os.utime(tmp_path / "kept" / f"trl-lint-run-{number}.json", (number, number))
        if number == 3:
            continue
        assert kept.load("run-3") is not None or number < 3  # entries that are used stay
    kept.save("run-last", {})
    left = {path.name for path in (tmp_path / "kept").glob("*.json")}
    assert len(left) == MAX_ENTRIES
    assert {"trl-lint-run-3.json", "trl-lint-run-last.json"} <= left
    assert "trl-lint-run-0.json" not in left


def test_entries_are_bounded_in_size(tmp_path, monkeypatch):
    monkeypatch.setattr("trl_lint.linter.store.cache.MAX_BYTES", 5000)
    kept = Cache(tmp_path / "kept")
    for number in range(10):
        kept.save(f"run-{number}", "x" * 1000)
        os.utime(tmp_path / "kept" / f"trl-lint-run-{number}.json", (number, number))
    assert sum(path.stat().st_size for path in (tmp_path / "kept").glob("*.json")) <= 5000
    assert kept.load("run-9") == "x" * 1000
    assert kept.load("run-0") is None


def test_what_a_killed_process_left_is_removed(tmp_path):
    kept = Cache(tmp_path / "kept")
    kept.save("run-0", {})
    old, new, foreign = (tmp_path / "kept" / name for name in ("trl-lint-a.tmp", "trl-lint-b.tmp", "c.tmp"))
    for path in (old, new, foreign):
        path.write_text("")
    for path in (old, foreign):
        os.utime(path, (time.time() - 7200,) * 2)
    kept.save("run-1", {})
    assert [path.exists() for path in (old, new, foreign)] == [False, True, True]


def test_verdicts_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(content_cache, "MOST", 3)
    for start in range(4):
        verdicts = content_cache.ContentCache(Cache(tmp_path), "gate-x")
        assert verdicts.of(b"used") is (None if start == 0 else False)
        verdicts.add(b"used", False)
        verdicts.add(str(start).encode(), True)
        verdicts.save()
    verdicts = content_cache.ContentCache(Cache(tmp_path), "gate-x")
    assert [verdicts.of(each) for each in (b"0", b"1", b"2", b"3", b"used")] == [None, None, True, True, False]


# What a result depends on


def test_where_nothing_is_the_highest_missing_folder_stands_for_all(tmp_path):
    (tmp_path / "there").mkdir()
    asked = {tmp_path / "a" / "b" / name: False for name in ("x.py", "y.py", "__init__.py")}
    asked |= {tmp_path / "there": False, tmp_path / "there" / "z.py": False}
    assert kinds_of(asked, ()) == {
        str(tmp_path / "a"): NOTHING,
        str(tmp_path / "there"): OTHER,
        str(tmp_path / "there" / "z.py"): NOTHING,
    }


def test_what_has_changed_during_the_analysis_is_not_kept(project):
    assert kinds_of({project / "mine.py": False}, ()) is None
    assert kinds_of({project / "gone.py": True}, ()) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"contents": {"mine.py": None}},
        {"contents": {"mine.py": "0"}},
        {"kinds": {"mine.py": NOTHING}},
        {"kinds": {"mine.py": OTHER}},
        {"kinds": {"gone.py": "file"}},
        {"small": {"mine.py": False}},
        {"releases": {"click": ""}},
        {"releases": {"no-such-thing": "1"}},
        {"engines": {"folder": "what it showed before"}},
        {"callers": ["gone.py"]},
    ],
)
def test_dependencies_that_do_not_hold(wrong):
    nothing = {"contents": {}, "kinds": {}, "small": {}, "limit": 10_000, "releases": {}, "engines": {}, "callers": []}
    assert Dependencies(**nothing).hold(str, list)
    assert not Dependencies(**nothing | wrong).hold(str, list)


WATCH = """
import json, sys
from pathlib import Path
from trl_lint.config import Settings
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules

folder, opened = Path.cwd(), set()
source = (folder / "mine.py").read_bytes()
sys.addaudithook(lambda event, args: opened.add(str(args[0])) if event == "open" else None)
linter = Linter(Settings(), (folder,), all_rules())
linter.sees_all = True  # who imports it is found out anew each time
linter.prepare([(folder / "mine.py", source)])
found = linter.check(folder / "mine.py", source)
inside = sorted(path for path in list(opened) if path.startswith(str(folder)))
noted = linter.dependencies()
print(json.dumps([len(found), inside, sorted(noted.contents), noted.small, noted.hold(linter.engines.answer, list)]))
"""


def test_all_files_that_an_analysis_opens_are_noted(project):
    """If a file were read without `Project`, results could outlive the files that they depend on."""
    change(project, "pkg/__init__.py", "from .deep import *\nfrom .large import helper\n")
    change(project, "pkg/deep.py", BASE)
    change(project, "pkg/large.py", "def helper(x):\n    return x\n" + "#" * 500_000)
    use = "import pkg\n" + MINE.replace("base", "pkg").replace("loss.item()", "pkg.helper(loss.item())")
    write(project, mine=use)
    done = python("-c", WATCH)
    assert done.stderr == ""
    count, opened, noted, small, holds = json.loads(done.stdout)
    assert (count, holds) == (0, True)  # a file that is too large is not read
    assert opened == noted == [str(project / "pkg" / name) for name in ("__init__.py", "deep.py")]
    assert small[str(project / "pkg" / "large.py")] is False
    assert lint("mine.py") == SILENT
    change(project, "pkg/large.py", "def helper(x):\n    return x\n")
    assert lint("mine.py") == ["mine.py:8:9: TRL003"]


SAVING = """\
from accelerate import Accelerator

def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    if accelerator.is_main_process:
        accelerator.save_state("x")
"""


def test_what_shows_an_engine_may_change(project):
    write(project, mine=SAVING)
    assert lint("mine.py") == []
    for text, said in (("FSDP", ["mine.py:7:9: TRL016"]), ("MULTI_GPU", []), ("DEEPSPEED", ["mine.py:7:9: TRL016"])):
        change(project, "accelerate.yaml", f"distributed_type: {text}\n")
        assert lint("mine.py") == lint("mine.py") == said


def test_what_starts_the_programs_that_run_a_file_without_a_library_may_change(project):
    main = (
        "import os\nfrom accelerate import Accelerator\nfrom util import keep\n\n\n"
        "def main():\n    if Accelerator().is_main_process:\n        os.remove('y')\n    keep('x')\n\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    write(project, mine=main)
    write(project, util="import os\n\n\ndef keep(path):\n    os.remove('x')\n")
    assert lint(".") == lint(".") == ["util.py:5:5: TRL008"]
    for name, text in (("README.md", "```bash\npython mine.py\n```\n"), ("Snakefile", "    shell: 'python mine.py'\n")):
        change(project, name, text)
        assert lint(".") == []
        change(project, name, text.replace("mine.py", "other.py"))
        assert lint(".") == lint(".") == ["util.py:5:5: TRL008"]


# Launch commands

TRAINS = "from transformers import Trainer, TrainingArguments\n\nTrainer(None, TrainingArguments('x')).train()\n"
LAUNCH = "CUDA_VISIBLE_DEVICES=0,1 python train.py --config a.yaml\n"
STARTED = ["run.sh:1:1: TRL004"]


@pytest.fixture
def looks(monkeypatch) -> list[Path]:
    """The files in which launch commands were looked for."""
    from trl_lint.launch import checker

    seen: list[Path] = []
    checked = checker.checked

    def counted(path, *args):
        seen.append(path)
        return checked(path, *args)

    monkeypatch.setattr(checker, "checked", counted)
    return seen


def test_what_is_wrong_about_launches_is_looked_up(project, looks):
    write(project, train=TRAINS)
    (project / "run.sh").write_text(LAUNCH)
    (project / "README.md").write_text("```bash\npython plain.py\n```\n")
    first, second = (run("--output-format=text", "run.sh", "README.md") for _ in range(2))
    assert first == second and "TRL004" in first[1]
    assert sorted(each.name for each in looks) == ["README.md", "run.sh"]
    assert run("--output-format=json", ".") == run("--output-format=json", ".")


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("run.sh", LAUNCH.replace("0,1", "0"), []),
        ("train.py", "print('nothing is trained')\n", []),
        ("train.py", None, []),
        ("run.sh", f"cd below\n{LAUNCH}", ["run.sh:2:1: TRL004"]),
        ("base.py", "print('not asked about')\n", STARTED),
    ],
)
def test_what_launches_start_and_name_may_change(project, looks, name, text, found):
    write(project, train=TRAINS)
    (project / "run.sh").write_text(LAUNCH)
    assert lint("run.sh") == lint("run.sh") == STARTED
    (project / name).unlink()
    if text is not None:
        (project / name).write_text(text)
    assert lint("run.sh") == lint("run.sh") == found
    assert len(looks) == 1 + (name != "base.py")


def test_what_was_not_there_may_come(project, looks):
    """The nearest of the files that a launch may start counts, and so does an imported module."""
    (project / "pyproject.toml").write_text("[tool.trl-lint]\n")
    write(project, train="from made import start\n\nstart()\n")
    folder = project / "scripts"
    folder.mkdir()
    (folder / "run.sh").write_text(LAUNCH)
    assert lint("scripts") == lint("scripts") == []
    write(project, made=TRAINS.replace("\n\nTrainer", "\n\n\ndef start():\n    Trainer"))
    assert lint("scripts") == lint("scripts") == ["scripts/run.sh:1:1: TRL004"]
    write(folder, train="print('nearer, and trains nothing')\n")
    assert lint("scripts") == lint("scripts") == []
    assert len(looks) == 3


def test_launches_that_are_not_asked_for_count_with_what_is_asked(project, looks):
    write(project, train=TRAINS)
    (project / "run.sh").write_text("python train.py\n")
    assert lint("run.sh") == []
    assert lint("--select=ALL", "run.sh") == lint("--select=ALL", "run.sh") != []
    assert len(looks) == 2


def test_launches_are_looked_for_again_where_the_entry_is_damaged(project, looks):
    write(project, train=TRAINS)
    (project / "run.sh").write_text(LAUNCH)
    assert lint("run.sh") == STARTED
    (entry,) = entries(project, "launches")
    check, _, _ = entry.read_bytes().partition(b"\n")
    entry.write_bytes(check + b"\n{}")
    assert lint("run.sh") == STARTED
    assert len(looks) == 2


# flake8


@pytest.mark.parametrize("jobs", ["-j1", "-j2"])
def test_flake8_says_the_same_cold_and_warm(project, jobs):
    for name in ("item_before_gather", "unreduced_metric"):
        write(project, **{name: (FIXTURES / name / "broken.py").read_text(encoding="utf-8")})
    write(project, bad=f"{GATHER}\n(((\n", crlf=GATHER.replace("\n", "\r\n"), bom="\ufeff" + GATHER)
    fresh = module("flake8", jobs, environment={**os.environ, "TRL_LINT_NO_CACHE": "1"})
    assert fresh.stdout.count("TRL") > 3
    said = [module("flake8", each) for each in (jobs, jobs, "-j1", "-j2")]
    assert [(each.stdout, each.stderr, each.returncode) for each in said] == [(fresh.stdout, "", 1)] * 4
    assert len(entries(project, "run")) == 1


def test_the_terminal_and_flake8_share_what_was_found(project, analyses):
    said = python("-m", "flake8", "--select=TRL")
    assert said.stdout.startswith("./mine.py:7:9: TRL003")
    assert lint(".") == FOUND
    assert not analyses


def test_flake8_is_told_of_a_changed_base(project):
    assert module("flake8", "--select=TRL", "mine.py").stdout.startswith("mine.py:7:9: TRL003")
    write(project, base=SILENT_BASE)
    assert module("flake8", "--select=TRL", "mine.py").stdout == ""


def test_flake8_is_handed_the_text_it_has_not_the_one_that_was_kept(project, monkeypatch, capsys):
    """Its Python interface may be called again for a file that has changed in the meantime."""
    from flake8.api.legacy import get_style_guide

    (project / ".flake8").write_text("[flake8]\njobs = 1\n")
    guide = get_style_guide(select=["TRL"])
    said = []
    for text in (MINE, "\n" + MINE, MINE, "x = 1\n"):
        write(project, mine=text)
        guide.check_files(["mine.py"])
        said.append(" ".join(capsys.readouterr().out.split()[:2]))
    assert said == ["mine.py:7:9: TRL003", "mine.py:8:9: TRL003", "mine.py:7:9: TRL003", ""]
