"""SARIF: what code scanning shows of a finding, and that the document follows the official schema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from linted_fixtures import ARGUMENTS, ROOT, cache_of_fixtures

from evaluation.releases import IndexUnreachable, Release, fetch
from trl_lint import __version__
from trl_lint.frontends.cli import main

FIXTURES = ROOT / "fixtures"
# A release that has the schema of OASIS among its tests.
SCHEMA = Release("iam-sarif-report", "2.3.1", "sdist"), "tests/data/sarif-schema-2.1.0.json"

# Ranks that diverge, with a fix that is not safe, and below that a number that has only a hint.
PROGRAM = """from accelerate import Accelerator

accelerator = Accelerator()


def save(model):
    if accelerator.is_main_process:
        accelerator.wait_for_everyone()


def total(loss):
    return accelerator.gather(loss.item())
"""


@pytest.fixture(autouse=True)
def project(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def document(*args: str | Path) -> dict:
    return json.loads(CliRunner().invoke(main, ["--output-format=sarif", *map(str, args)]).stdout)


def results(*args: str | Path) -> list[dict]:
    (run,) = document(*args)["runs"]
    return run["results"]


def place(location: dict) -> tuple[str, int, int]:
    physical = location["physicalLocation"]
    return physical["artifactLocation"]["uri"], physical["region"]["startLine"], physical["region"]["startColumn"]


@pytest.mark.index
@pytest.mark.parametrize(
    "release", [None, pytest.param(Release("trl", "0.13.0"), marks=pytest.mark.slow)], ids=["fixtures", "trl"]
)
def test_the_official_schema_holds(monkeypatch, tmp_path_factory, release):
    validators = pytest.importorskip("jsonschema")
    source, path = SCHEMA
    try:
        schema = json.loads((fetch(source) / path).read_text(encoding="utf-8"))
        monkeypatch.chdir(ROOT if release is None else fetch(release))
    except IndexUnreachable as error:
        pytest.skip(str(error))
    if release is None:
        monkeypatch.delenv("TRL_LINT_NO_CACHE")
        found = document(f"--cache-dir={cache_of_fixtures(tmp_path_factory)}", *ARGUMENTS)
    else:
        found = document("--isolated", "--select=ALL", ".")
    validator = validators.validators.validator_for(schema)(schema, format_checker=validators.FormatChecker())
    assert [f"{list(each.path)}: {each.message}" for each in validator.iter_errors(found)] == []
    assert len(found["runs"][0]["results"]) > 40
    del found["runs"][0]["results"][0]["message"]
    assert [list(each.path) for each in validator.iter_errors(found)] == [["runs", 0, "results", 0]]


def test_what_is_said_of_the_run_and_its_rules():
    (run,) = document()["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("trl-lint", __version__)
    assert [(each["id"], each["name"]) for each in driver["rules"]] == [
        ("TRL006", "divergent-collective"),
        ("TRL001", "item-before-gather"),
    ]
    first = driver["rules"][0]
    assert first["defaultConfiguration"] == {"level": "error"}
    assert first["help"]["markdown"].startswith("# divergent-collective (TRL006)")
    assert "## Limits" in first["help"]["text"]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


def test_places_that_explain_a_finding():
    diverging, _ = results()
    assert place(diverging["locations"][0]) == ("train.py", 8, 9)
    related = [(place(each), each["message"]["text"]) for each in diverging["relatedLocations"]]
    assert related == [
        (("train.py", 7, 8), "`accelerator.is_main_process` differs between ranks"),
        (("train.py", 7, 5), "`.is_main_process` depends on the rank"),
    ]
    (flow,) = diverging["codeFlows"]
    steps = [each["location"] for each in flow["threadFlows"][0]["locations"]]
    assert [place(each) for each in steps] == [("train.py", 7, 5), ("train.py", 7, 8), ("train.py", 8, 9)]
    assert steps[-1]["message"]["text"] == diverging["message"]["text"].partition("\n")[0]
    assert diverging["message"]["text"].partition("\n")[2].startswith("help: ")


def test_one_place_is_told_once(project):
    """A decorator that admits some ranks is the reason that keeps the others away, and the only place to report."""
    text = PROGRAM.replace("    if accelerator.is_main_process:\n        acc", "    acc")
    (project / "train.py").write_text(text.replace("def save", "@accelerator.on_main_process\ndef save"))
    related = results()[0]["relatedLocations"]
    told = [(each["id"], each["message"]["text"]) for each in related]
    assert told == [(1, "its decorator runs it on some ranks only")]


SAFE = (FIXTURES / "item_before_gather" / "broken.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "applicability", "args"),
    [(PROGRAM, "unsafe", ["--unsafe-fixes"]), (SAFE, "safe", ["--select=TRL001"])],
)
def test_fixes_can_be_applied_and_say_when_they_are_unsafe(project, source, applicability, args):
    (project / "train.py").write_text(source)
    fix = results()[0]["fixes"][0]
    assert fix["properties"] == {"applicability": applicability}
    assert ("(unsafe: " in fix["description"]["text"]) is (applicability == "unsafe")
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "train.py"
    lines = source.splitlines(keepends=True)
    for each in reversed(change["replacements"]):
        region = each["deletedRegion"]
        first, last = region["startLine"] - 1, region["endLine"] - 1
        before, after = lines[first][: region["startColumn"] - 1], lines[last][region["endColumn"] - 1 :]
        lines[first : last + 1] = [before + each["insertedContent"]["text"] + after]
    CliRunner().invoke(main, ["--fix", *args])
    assert (project / "train.py").read_text() == "".join(lines) != source


def test_a_hint_is_nothing_to_apply():
    assert results()[1]["fixes"] == []


def test_what_a_comment_silences_is_left_out(project):
    (project / "train.py").write_text(PROGRAM.replace("loss.item())", "loss.item())  # noqa: TRL001"))
    assert [each["ruleId"] for each in results()] == ["TRL006"]


def test_a_file_that_can_not_be_parsed_is_said_to_have_failed(project):
    (project / "cut.py").write_text(f"{PROGRAM}x = (\n")
    (run,) = document()["runs"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (said,) = invocation["toolExecutionNotifications"]
    assert said["message"]["text"].startswith("cut.py:13:5: cannot parse: ")
    assert len(run["results"]) == 2


# Paths


@pytest.mark.parametrize("variable", ["GITHUB_WORKSPACE", "CI_PROJECT_DIR"])
def test_paths_are_told_from_what_was_checked_out(project, monkeypatch, variable):
    (project / "sub folder").mkdir()
    (project / "train.py").rename(project / "sub folder" / "tr%in.py")
    monkeypatch.chdir(project / "sub folder")
    assert {place(each["locations"][0])[0] for each in results()} == {"tr%25in.py"}
    monkeypatch.setenv(variable, str(project))
    assert {place(each["locations"][0])[0] for each in results()} == {"sub%20folder/tr%25in.py"}
    # An unrelated folder is not used as the base for paths.
    monkeypatch.setenv(variable, str(project / "other"))
    assert {place(each["locations"][0])[0] for each in results()} == {"tr%25in.py"}


def test_paths_are_told_from_the_project(project, monkeypatch):
    (project / "pyproject.toml").write_text("[tool.trl-lint]\n")
    (project / "src").mkdir()
    (project / "train.py").rename(project / "src" / "train.py")
    monkeypatch.chdir(project / "src")
    assert {place(each["locations"][0])[0] for each in results(".")} == {"src/train.py"}
    (run,) = document(".")["runs"]
    assert run["originalUriBaseIds"] == {"PROJECT": {"uri": f"{project.as_uri()}/"}}


def test_a_path_outside_is_a_uri_of_its_own(project, monkeypatch):
    (project / "elsewhere").mkdir()
    monkeypatch.chdir(project / "elsewhere")
    where = results("../train.py")[0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert where == {"uri": (project / "train.py").as_uri()}


# Fingerprints


def fingerprints() -> list[str]:
    return [each["partialFingerprints"]["trlLintCode/v1"] for each in results()]


def test_fingerprints_stay_when_code_moves(project):
    before = fingerprints()
    assert len(set(before)) == 2
    (project / "train.py").write_text(PROGRAM.replace("def save", "# A note.\n\n\ndef save"))
    assert fingerprints() == before
    (project / "train.py").rename(project / "loop.py")
    assert fingerprints() == before
    text = PROGRAM.replace("        accelerator.wait", "        if True:\n            accelerator.wait")
    (project / "loop.py").write_text(text)
    assert fingerprints() == before


def test_fingerprints_change_with_the_code_and_tell_twins_apart(project):
    diverging, gathered = fingerprints()
    (project / "train.py").write_text(PROGRAM.replace("loss.item()", "loss.mean().item()"))
    assert fingerprints()[0] == diverging and fingerprints()[1] != gathered
    twice = PROGRAM + PROGRAM.partition("def total")[1] + "_again" + PROGRAM.partition("def total")[2]
    (project / "train.py").write_text(twice)
    first, second, third = fingerprints()
    assert (first, second) == (diverging, gathered)
    assert third not in (first, second)
