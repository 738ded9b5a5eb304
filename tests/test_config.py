"""Settings: where they come from, what they may say, and which rules they select."""

from __future__ import annotations

import subprocess
import sys
from itertools import product, starmap
from pathlib import Path

import pytest

from trl_lint.config import did_you_mean, ignored_in, load_settings, selected_rules
from trl_lint.rules import all_rules
from trl_lint.rules.unreduced_metric import UnreducedMetric
from trl_lint.settings import ConfigError, Settings

EVERY = [rule.code for rule in all_rules() if not rule.preview]


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text, encoding="utf-8")
    return path


def codes(**settings) -> list[str]:
    return [rule.code for rule in selected_rules(Settings(**settings))]


def ignored_rules(settings: Settings, path: Path) -> list[str]:
    """The codes of the rules none of whose findings are left in a file."""
    ignores = ignored_in(settings, path)
    kinds = {rule.code: product((rule,), rule.consequences, (True, False)) for rule in all_rules()}
    return [code for code, each in sorted(kinds.items()) if all(starmap(ignores, each))]


def test_every_key_is_read(tmp_path):
    write(
        tmp_path,
        """
        [tool.trl-lint]
        select = ["TRL0"]
        ignore = ["TRL003"]
        extend-select = ["unreduced-metric"]
        preview = true
        exclude = ["generated/"]
        target-trl = "0.14"
        target-transformers = "4.57.1"
        unsafe-fixes = true
        output-format = "concise"
        per-file-ignores = { "tests/**" = ["TRL003"], "old.py" = ["ALL"] }
        reducers = { "mylib.dist.all_mean" = "mean", "mylib.dist.gather_all" = "gather" }
        guards = ["mylib.is_rank0"]
        sinks = ["mylib.tracking.push"]
        unwrappers = ["mylib.unwrap"]
        trainer-bases = { "mylib.trainers.BaseTrainer" = "trl.DPOTrainer" }
        """,
    )
    assert load_settings(tmp_path) == Settings(
        select=("TRL0",),
        ignore=("TRL003",),
        extend_select=("unreduced-metric",),
        preview=True,
        exclude=("generated/",),
        target_trl="0.14",
        target_transformers="4.57.1",
        unsafe_fixes=True,
        output_format="concise",
        per_file_ignores=(("tests/**", ("TRL003",)), ("old.py", ("ALL",))),
        reducers=(("mylib.dist.all_mean", "mean"), ("mylib.dist.gather_all", "gather")),
        guards=("mylib.is_rank0",),
        sinks=("mylib.tracking.push",),
        unwrappers=("mylib.unwrap",),
        trainer_bases=(("mylib.trainers.BaseTrainer", "trl.DPOTrainer"),),
        root=tmp_path,
    )


@pytest.mark.parametrize(
    "text",
    [
        "[tool.trl-lint]\nreducers = { 'a.b.f' = 'mean', 'a.b.g' = 'sum' }\n",
        "[tool.trl-lint]\nreducers = { a.b.f = 'mean', a.b.g = 'sum' }\n",
        "[tool.trl-lint.reducers]\na.b.f = 'mean'\n'a.b.g' = 'sum'\n",
        "[tool.trl-lint.reducers.a.b]\nf = 'mean'\ng = 'sum'\n",
    ],
)
def test_dotted_names_need_no_quotes(tmp_path, text):
    write(tmp_path, text)
    assert sorted(load_settings(tmp_path).reducers) == [("a.b.f", "mean"), ("a.b.g", "sum")]


def test_a_list_of_trainer_bases_means_plain_trainers(tmp_path):
    write(tmp_path, "[tool.trl-lint]\ntrainer-bases = ['a.B', 'a.C']\n")
    wanted = (("a.B", "transformers.Trainer"), ("a.C", "transformers.Trainer"))
    assert load_settings(tmp_path).trainer_bases == wanted


def test_the_names_of_all_keys_are_the_users_own():
    settings = Settings(
        select=("TRL001",),
        reducers=(("a.b", "mean"),),
        guards=("a.c",),
        sinks=("a.d",),
        unwrappers=("a.e",),
        trainer_bases=(("a.F", "transformers.Trainer"),),
    )
    assert settings.own_names() == ("a.b", "a.c", "a.d", "a.e", "a.F")


def test_an_empty_table_gives_the_defaults(tmp_path):
    write(tmp_path, "[tool.trl-lint]\n")
    assert load_settings(tmp_path) == Settings(root=tmp_path)


def test_the_nearest_table_wins(tmp_path):
    write(tmp_path, "[tool.trl-lint]\nignore = ['TRL001']\n")
    write(tmp_path / "a", "[tool.trl-lint]\nignore = ['TRL002']\n")
    deep = tmp_path / "a" / "b"
    deep.mkdir()
    assert load_settings(deep).ignore == ("TRL002",)


def test_a_project_file_without_the_table_does_not_hide_one_above(tmp_path):
    write(tmp_path, "[tool.trl-lint]\nignore = ['TRL001']\n")
    write(tmp_path / "a", "[project]\nname = 'a'\n")
    assert load_settings(tmp_path / "a") == Settings(ignore=("TRL001",), root=tmp_path)


def test_a_project_without_settings_still_gives_the_root(tmp_path):
    write(tmp_path, "[project]\nname = 'a'\n")
    assert load_settings(tmp_path / "not" / "there") == Settings(root=tmp_path)


def test_isolated_reads_nothing(tmp_path):
    write(tmp_path, "broken [")
    assert load_settings(tmp_path, isolated=True) == Settings()


def test_an_explicit_file_is_relative_to_where_the_user_stands(tmp_path, monkeypatch):
    path = write(tmp_path / "elsewhere", "[tool.trl-lint]\nexclude = ['x']\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings(Path("src"), path) == Settings(exclude=("x",), root=tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[tool.trl-lint]\nselct = ['TRL001']\n",
            "unknown key `selct` in [tool.trl-lint]; did you mean `select`?",
        ),
        ("[tool.trl-lint]\nzzz = 1\n", "unknown key `zzz` in [tool.trl-lint]"),
        ("[tool.trl-lint]\nroot = '/'\n", "unknown key `root` in [tool.trl-lint]"),
        ("[tool.trl-lint]\nselect = 'TRL001'\n", "[tool.trl-lint] select: Expected `array`, got `str`"),
        ("[tool.trl-lint]\nselect = [1]\n", "[tool.trl-lint] select[0]: Expected `str`, got `int`"),
        ("[tool.trl-lint]\nunsafe-fixes = 1\n", "[tool.trl-lint] unsafe-fixes: Expected `bool`, got `int`"),
        (
            "[tool.trl-lint]\noutput-format = 'xml'\n",
            "[tool.trl-lint] output-format: Invalid enum value 'xml'",
        ),
        (
            "[tool.trl-lint]\ntarget-trl = 'newest'\n",
            "[tool.trl-lint] target-trl: Expected `str` matching regex",
        ),
        (
            "[tool.trl-lint]\nreducer = {}\n",
            "unknown key `reducer` in [tool.trl-lint]; did you mean `reducers`?",
        ),
        (
            "[tool.trl-lint]\nreducers = { 'a.f' = 'avg', 'a.g' = 'maen' }\n",
            "[tool.trl-lint] reducers: `a.f` can't be `avg`; it can be `broadcast`, `gather`, `max`, `mean`",
        ),
        (
            "[tool.trl-lint]\nreducers = { 'a.g' = 'maen' }\n",
            "[tool.trl-lint] reducers: `a.g` can't be `maen`; did you mean `mean`?",
        ),
        ("[tool.trl-lint]\nreducers = ['a.f']\n", "[tool.trl-lint] reducers: Expected `table`, got `array`"),
        ("[tool.trl-lint]\nreducers = { 'a.f' = 1 }\n", "[tool.trl-lint] reducers[...]: Expected `str`, got `int`"),
        ("[tool.trl-lint]\nguards = 'a.f'\n", "[tool.trl-lint] guards: Expected `array`, got `str`"),
        (
            "[tool.trl-lint]\nguards = ['is_rank0']\n",
            "[tool.trl-lint] guards: `is_rank0` is not a dotted name such as `mylib.dist.all_mean`",
        ),
        ("[tool.trl-lint]\nsinks = ['a..f']\n", "[tool.trl-lint] sinks: `a..f` is not a dotted name"),
        ("[tool.trl-lint]\nunwrappers = ['a.f()']\n", "[tool.trl-lint] unwrappers: `a.f()` is not a dotted name"),
        (
            "[tool.trl-lint]\nsinks = ['a.f']\nunwrappers = ['b.f', 'a.f']\n",
            "[tool.trl-lint] unwrappers: `a.f` is in `sinks` already",
        ),
        (
            "[tool.trl-lint]\ntrainer-bases = { 'a.B' = 'trl.DPOTrainr' }\n",
            "[tool.trl-lint] trainer-bases: `a.B` can't behave like `trl.DPOTrainr`, which is not a known "
            "trainer; did you mean `trl.DPOTrainer`?",
        ),
        (
            "[tool.trl-lint]\ntrainer-bases = { 'a.B' = 'accelerate.Accelerator' }\n",
            "[tool.trl-lint] trainer-bases: `a.B` can't behave like `accelerate.Accelerator`",
        ),
        (
            "[tool.trl-lint]\ntrainer-bases = [1]\n",
            "[tool.trl-lint] trainer-bases: Expected `table`, got `array`",
        ),
        (
            "[tool.trl-lint]\nper-file-ignores = { 'a.py' = 'TRL001' }\n",
            "[tool.trl-lint] per-file-ignores[...]: Expected `array`, got `str`",
        ),
        ("[tool]\ntrl-lint = 3\n", "[tool.trl-lint] must be a table"),
        ("[tool.trl-lint\n", "cannot parse: "),
        ("<<<<<<< ours\n", "cannot parse: "),
    ],
)
def test_what_can_not_be_acted_on_is_one_line(tmp_path, text, said):
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {said}")
    assert "\n" not in message


def test_a_project_file_in_another_encoding(tmp_path):
    (tmp_path / "pyproject.toml").write_bytes("# é\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"cannot parse: .*utf-8"):
        load_settings(tmp_path)


def test_an_explicit_file_must_be_there_and_have_the_table(tmp_path):
    with pytest.raises(ConfigError, match="cannot read: No such file"):
        load_settings(tmp_path, tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match=r"has no \[tool.trl-lint\] table"):
        load_settings(tmp_path, write(tmp_path, "[tool.other]\n"))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, EVERY),
        ({"select": ("TRL",)}, EVERY),
        ({"select": ("trl0",)}, [code for code in EVERY if code < "TRL9"]),
        ({"select": ("TRL001",)}, ["TRL001"]),
        ({"select": ("Item-Before-Gather",)}, ["TRL001"]),
        ({"select": ()}, []),
        ({"select": (), "extend_select": ("TRL003",)}, ["TRL003"]),
        ({"ignore": ("ALL",)}, []),
        ({"ignore": ("TRL",)}, []),
        ({"select": ("TRL003",), "ignore": ("TRL",)}, ["TRL003"]),
        ({"select": ("unreduced-metric",), "ignore": ("TRL00",)}, ["TRL003"]),
        ({"select": ("TRL003",), "ignore": ("unreduced-metric",)}, []),
        ({"ignore": ("TRL001",)}, [code for code in EVERY if code != "TRL001"]),
    ],
)
def test_selection(settings, expected):
    assert codes(**settings) == expected


@pytest.mark.parametrize(
    ("settings", "runs"),
    [
        ({}, False),
        ({"preview": True}, True),
        ({"select": ("TRL0",)}, False),
        ({"select": ("TRL0",), "preview": True}, True),
        ({"select": ("TRL003",)}, True),
        ({"extend_select": ("unreduced-metric",)}, True),
        ({"ignore": ("TRL003",), "preview": True}, False),
    ],
)
def test_a_preview_rule_runs_where_it_is_asked_for(settings, runs, monkeypatch):
    monkeypatch.setattr(UnreducedMetric, "preview", True)
    assert ("TRL003" in codes(**settings)) is runs
    assert "TRL001" in codes(**settings) or "select" in settings


@pytest.mark.parametrize("field", ["select", "ignore", "extend_select"])
@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("item-before-gathr", "; did you mean `item-before-gather`?"),
        ("X", ""),
        ("", ""),
        ("TRL0033", "; did you mean `TRL003`?"),
    ],
)
def test_an_unknown_selector_is_named(field, word, hint):
    with pytest.raises(ConfigError) as caught:
        codes(**{field: (word,)})
    assert str(caught.value) == f"unknown rule `{word}`{hint}"


def test_an_unknown_selector_for_some_files_is_named():
    with pytest.raises(ConfigError, match="unknown rule `TRL0033`; did you mean `TRL003`"):
        codes(per_file_ignores=(("tests/*", ("TRL003", "TRL0033")),))


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("tests/**", ["tests/a.py", "tests/b/c.py"]),
        ("tests/*", ["tests/a.py", "tests/b/c.py"]),
        ("./tests/*", ["tests/a.py", "tests/b/c.py"]),
        ("tests/b/*.py", ["tests/b/c.py"]),
        ("tests/**/*.py", ["tests/a.py", "tests/b/c.py"]),
        ("**/c.py", ["c.py", "src/tests/c.py", "tests/b/c.py"]),
        ("c.py", ["c.py", "src/tests/c.py", "tests/b/c.py"]),
        ("src/tests/c.py", ["src/tests/c.py"]),
        ("[ac].py", ["c.py", "src/tests/c.py", "tests/a.py", "tests/b/c.py"]),
        ("!tests/**", ["c.py", "src/tests/c.py"]),
        ("tests", []),
        ("test/*", []),
    ],
)
def test_patterns_fit_paths_below_the_root_or_the_name_of_a_file(tmp_path, pattern, fits):
    root = tmp_path / "[a]"  # a folder's name is no pattern
    files = ["c.py", "src/tests/c.py", "tests/a.py", "tests/b/c.py"]
    settings = Settings(per_file_ignores=((pattern, ("TRL003",)),), root=root)
    assert [name for name in files if ignored_rules(settings, root / name)] == fits


@pytest.mark.parametrize(
    ("selectors", "expected"),
    [
        (("TRL003",), ["TRL003"]),
        (("trl00",), [rule.code for rule in all_rules() if rule.code.startswith("TRL00")]),
        (("ALL",), [rule.code for rule in all_rules()]),
        (("unreduced-metric",), ["TRL003"]),
        ((), []),
    ],
)
def test_the_rules_of_a_pattern(tmp_path, selectors, expected):
    settings = Settings(per_file_ignores=(("*.py", selectors), ("other.py", ("ALL",))), root=tmp_path)
    assert ignored_rules(settings, tmp_path / "x.py") == expected


def test_did_you_mean_keeps_the_known_spelling():
    assert did_you_mean("trl01", ["TRL001"]) == "; did you mean `TRL001`?"
    assert did_you_mean("entirely-else", ["TRL001"]) == ""


def test_names_of_the_users_own_cost_no_libcst(tmp_path):
    write(tmp_path, "[tool.trl-lint]\nreducers = { 'a.f' = 'mean' }\ntrainer-bases = ['a.B']\n")
    script = (
        "import sys; from pathlib import Path; from trl_lint.config import load_settings, selected_rules\n"
        "from trl_lint.linter.linter import Linter\n"
        f"settings = load_settings(Path({str(tmp_path)!r}))\n"
        "assert Linter(settings, (), selected_rules(settings)).may_matter(b'f')\n"
        "sys.exit('libcst' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_settings_cost_no_msgspec():
    script = "import sys, trl_lint.config; sys.exit('msgspec' in sys.modules or 'libcst' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
