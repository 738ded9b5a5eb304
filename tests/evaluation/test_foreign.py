"""How findings on foreign code bases are compared with verdicts, for a repository created here."""

import json
import zipfile
from pathlib import Path

import pytest

from code_base import FILE, METRIC, REPOSITORY, TRAIN, git
from evaluation import checkouts, foreign, releases
from evaluation.checkouts import Checkout, NotToBeHad, tree_of
from evaluation.foreign import Dependent, Judged, Outcome, Reported, compare, lint, name_of, read_cases, wrong
from evaluation.releases import IndexUnreachable

# The arguments of this hook differ between releases of trl.
FUSED = """\
from trl import GRPOTrainer


class Fused(GRPOTrainer):
    def compute_liger_loss(self, unwrapped_model, inputs):
        return self.liger_grpo_loss(unwrapped_model.lm_head.weight, inputs)
"""
# A call that spans several lines, and two lines with the same text.
LINES = ["x = f(", "    1,", ")", "g(x)", "g(x)"]


@pytest.fixture
def judge(tmp_path, checkout, monkeypatch):
    """Use verdicts, given as (line, rule, verdict), instead of those of the table."""

    def write(*verdicts: tuple[int, str, str]) -> None:
        rows = [
            {"file": "train.py", "line": line, "rule": rule, "verdict": verdict, "reason": "so it is"}
            for line, rule, verdict in verdicts
        ]
        table = tmp_path / "foreign.json"
        case = {"repository": checkout.repository, "commit": checkout.commit, "verdicts": rows}
        table.write_text(json.dumps([case]))
        monkeypatch.setattr(foreign, "read_cases", lambda: read_cases(table))

    return write


def test_the_files_that_the_linter_looks_at_are_written_out(checkout, mirrors):
    tree = tree_of(checkout, mirrors)
    written = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())
    assert written == ["README.md", "requirements.txt", "scripts/train", "train.py", "zero.json"]
    assert (tree / "train.py").read_text() == TRAIN


def test_what_is_written_out_once_is_not_asked_for_again(checkout, mirrors, monkeypatch):
    tree = tree_of(checkout, mirrors)
    monkeypatch.setattr(checkouts.subprocess, "run", None)
    assert tree_of(checkout, mirrors) == tree


def test_a_commit_that_the_mirror_lacks_can_not_be_had(checkout, mirrors):
    with pytest.raises(NotToBeHad, match="lacks the commit"):
        tree_of(Checkout(REPOSITORY, "0" * 40), mirrors)


def test_a_mirror_without_some_code_can_not_be_had(checkout, mirrors):
    git_directory = mirrors / "somebody+training" / "repo"
    name = git(git_directory, "rev-parse", f"{checkout.commit}:train.py")
    (git_directory / "objects" / name[:2] / name[2:]).unlink()
    with pytest.raises(NotToBeHad, match=r"lacks train\.py"):
        tree_of(checkout, mirrors)


def test_a_readme_that_the_mirror_lacks_is_left_out(checkout, mirrors):
    git_directory = mirrors / "somebody+training" / "repo"
    name = git(git_directory, "rev-parse", f"{checkout.commit}:README.md")
    (git_directory / "objects" / name[:2] / name[2:]).unlink()
    tree = tree_of(checkout, mirrors)
    assert (tree / "train.py").is_file()
    assert not (tree / "README.md").exists()


def test_all_is_as_judged(judge, mirrors, capsys):
    judge((METRIC, "TRL003", "minor"), (FILE, "TRL008", "real"))
    assert foreign.main(["--mirrors", str(mirrors)]) == 0
    shown = capsys.readouterr().out
    assert "TRL003        1/1" in shown
    assert "TRL008  1/1" in shown
    assert "train.py" not in shown


def test_a_false_alarm_that_is_still_reported_fails(judge, mirrors, capsys):
    judge((METRIC, "TRL003", "false"), (FILE, "TRL008", "real"))
    assert foreign.main(["--mirrors", str(mirrors)]) == 1
    assert f"judged false, still reported: {REPOSITORY} train.py:{METRIC}: TRL003: so it is" in capsys.readouterr().out


def test_a_real_finding_that_is_gone_fails(judge, mirrors, capsys):
    judge((METRIC, "TRL003", "minor"), (FILE, "TRL008", "real"), (FILE, "TRL006", "real"))
    assert foreign.main(["--mirrors", str(mirrors)]) == 1
    shown = capsys.readouterr().out
    assert f"judged real, gone: {REPOSITORY} train.py:{FILE}: TRL006: so it is" in shown
    assert "judged false" not in shown


def test_a_false_alarm_that_is_gone_is_as_it_should_be(judge, mirrors):
    judge((METRIC, "TRL003", "minor"), (FILE, "TRL008", "real"), (FILE, "TRL006", "false"))
    assert foreign.main(["--mirrors", str(mirrors)]) == 0


def test_what_nobody_has_judged_is_shown_to_be_read(judge, mirrors, capsys):
    judge((FILE, "TRL008", "real"))
    assert foreign.main(["--mirrors", str(mirrors)]) == 1
    shown = capsys.readouterr().out
    assert f"{REPOSITORY} train.py:{METRIC}: TRL003 " in shown
    assert "1 code bases linted (1 commits, 0 releases), 0 skipped; 2 findings, 1 of them without a verdict" in shown
    assert "loss = model(**batch).loss" not in shown
    foreign.main(["--mirrors", str(mirrors), "--sources", "1"])
    shown = capsys.readouterr().out
    assert f"     {METRIC - 1} |     loss = model(**batch).loss" in shown
    assert f">     {METRIC} |" in shown
    assert "for batch in loader" not in shown


def test_a_code_base_that_can_not_be_had_is_skipped_with_the_reason(judge, tmp_path, monkeypatch, capsys):
    judge((FILE, "TRL008", "real"))

    def refuse(_):
        raise NotToBeHad("no such host")

    monkeypatch.setattr(checkouts, "_clone", refuse)
    assert foreign.main(["--mirrors", str(tmp_path / "empty")]) == 2
    assert f"skipped: {REPOSITORY} at " in (shown := capsys.readouterr().out)
    assert "no such host" in shown


@pytest.fixture
def hub(checkout, mirrors, tmp_path, monkeypatch) -> Path:
    """The remote of a code base without a mirror; like GitHub, it serves single objects on request."""
    folder = tmp_path / "hub"
    repository = folder / REPOSITORY
    repository.parent.mkdir(parents=True)
    (mirrors / "somebody+training" / "repo").rename(repository)
    git(repository, "config", "uploadpack.allowFilter", "true")
    git(repository, "config", "uploadpack.allowAnySHA1InWant", "true")
    monkeypatch.setattr(checkouts, "GITHUB", f"file://{folder}")
    return folder


def test_a_code_base_without_a_mirror_is_cloned(checkout, hub, mirrors):
    assert (tree_of(checkout, mirrors) / "train.py").read_text() == TRAIN


def test_of_a_clone_only_what_is_looked_at_is_fetched(checkout, hub, mirrors, tmp_path):
    tree_of(checkout, mirrors)
    clone = tmp_path / "cache" / "clones" / "somebody+training.git"
    there = {
        line.split()[0]
        for line in git(clone, "cat-file", "--batch-check", "--batch-all-objects").splitlines()
        if " blob " in line
    }
    wanted, unwanted = (git(hub / REPOSITORY, "rev-parse", f"HEAD:{name}") for name in ("train.py", "logo.png"))
    assert wanted in there
    assert unwanted not in there


def test_all_of_it_as_json_is_without_the_source(judge, mirrors, capsys):
    judge((FILE, "TRL008", "real"), (FILE, "TRL006", "real"))
    foreign.main(["--mirrors", str(mirrors), "--json"])
    (code_base,) = json.loads(shown := capsys.readouterr().out)["code_bases"]
    assert [each["rule"] for each in code_base["kept"]] == ["TRL008"]
    assert [each["rule"] for each in code_base["gone"]] == ["TRL006"]
    assert [(each["rule"], each["line"]) for each in code_base["unjudged"]] == [("TRL003", METRIC)]
    assert "loss.item()" not in shown


def test_what_nobody_has_judged_is_shown_as_rows_for_the_table(judge, mirrors, capsys):
    judge((FILE, "TRL008", "real"))
    assert foreign.main(["--mirrors", str(mirrors), "--rows"]) == 1
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.startswith(f"{REPOSITORY} at ")
    assert json.loads(row.rstrip(",")) == {
        "file": "train.py",
        "line": METRIC,
        "rule": "TRL003",
        "verdict": "",
        "reason": "",
    }


@pytest.fixture
def on_the_index(tmp_path, monkeypatch):
    """A release of one file in the cache, and verdicts on it; the index can't be reached."""
    monkeypatch.setenv(releases.CACHE_VARIABLE, str(tmp_path / "cache"))
    (tmp_path / "cache" / "archives").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "cache" / "archives" / "training-1.0.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("training/train.py", TRAIN)
    verdicts = [
        {"file": "training/train.py", "line": line, "rule": rule, "verdict": "minor", "reason": "so it is"}
        for line, rule in ((METRIC, "TRL003"), (FILE, "TRL008"))
    ]
    table = tmp_path / "ecosystem.json"
    versions = {"trl": "1.9.0", "transformers": "5.16.1"}
    cases = [{"package": name, "version": "1.0.0", **versions, "verdicts": verdicts} for name in ("training", "gone")]
    table.write_text(json.dumps(cases))
    monkeypatch.setattr(foreign, "read_cases", lambda: read_cases(table))

    def refuse(release, _):
        raise IndexUnreachable(f"{release} could not be fetched")

    monkeypatch.setattr(releases, "_download", refuse)


def test_a_release_is_compared_like_a_commit(on_the_index, capsys):
    assert foreign.main(["--only", "training"]) == 0
    shown = capsys.readouterr().out
    assert "1 code bases linted (0 commits, 1 releases), 0 skipped; 2 findings, 0 of them without" in shown


def test_a_release_that_can_not_be_fetched_is_skipped_with_the_reason(on_the_index, capsys):
    assert foreign.main([]) == 0
    assert "skipped: gone 1.0.0: gone 1.0.0 could not be fetched" in capsys.readouterr().out
    assert foreign.main(["--only", "gone"]) == 2


def test_a_release_is_linted_for_the_libraries_it_depends_on(tmp_path):
    (tmp_path / "train.py").write_text(FUSED)
    found = {trl: lint(Dependent("training", "1.0.0", trl=trl), tmp_path).reported for trl in ("0.17.0", "1.9.0")}
    assert [each.rule for each in found["0.17.0"]] == ["TRL002"]
    assert found["1.9.0"] == []


def compared(tmp_path: Path, findings: list[tuple[int, int]], judged: list[int]) -> Outcome:
    """Findings of one rule, as (first line, last line), compared with verdicts on lines."""
    (tmp_path / "f.py").write_text("\n".join(LINES))
    texts = [LINES[start - 1].strip() for start, _ in findings]
    reported = [
        Reported(REPOSITORY, "f.py", start, end, "TRL001", "…", text)
        for (start, end), text in zip(findings, texts, strict=True)
    ]
    outcome = Outcome(Checkout(REPOSITORY, "0" * 40), tmp_path, reported)
    compare(outcome, [Judged(REPOSITORY, "f.py", line, "TRL001", "real", "…") for line in judged])
    return outcome


def test_a_verdict_is_on_the_finding_of_its_line(tmp_path):
    outcome = compared(tmp_path, [(4, 4), (5, 5)], [4])
    assert [each.line for each in outcome.unjudged] == [5]
    assert not outcome.gone


def test_a_verdict_is_on_the_finding_around_its_line(tmp_path):
    outcome = compared(tmp_path, [(1, 3)], [2])
    assert not outcome.unjudged
    assert not outcome.gone


def test_a_verdict_whose_line_has_moved_is_on_the_same_text(tmp_path):
    outcome = compared(tmp_path, [(5, 5)], [4])
    assert not outcome.unjudged
    assert not outcome.gone


def test_a_moved_verdict_takes_no_finding_that_has_one_of_its_own(tmp_path):
    outcome = compared(tmp_path, [(5, 5)], [4, 5])
    assert [each.line for each in outcome.gone] == [4]
    assert wrong([outcome]) == [f"judged real, gone: {REPOSITORY} f.py:4: TRL001: …"]


@pytest.mark.parametrize("path", foreign.TABLES, ids=lambda path: path.stem)
def test_the_table_is_well_formed(path):
    cases = read_cases(path)
    assert [name_of(each).lower() for each in cases] == sorted(name_of(each).lower() for each in cases)
    assert all(len(each.commit) == 40 for each in cases if isinstance(each, Checkout))
    for rows in cases.values():
        places = [(each.file, each.line, each.rule) for each in rows]
        assert places == sorted(set(places))
        assert {each.verdict for each in rows} <= set(foreign.VERDICTS)
        assert all(each.reason and "\n" not in each.reason for each in rows)
