"""The checks of the fix benchmark on small files; each check must be able to fail."""

import codecs
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import fixes
from evaluation.checkouts import NotToBeHad
from evaluation.conditions import conditions_lost
from evaluation.fixes import Mender, Outcome, Pair, check, site_lines
from trl_lint.findings import Finding, Position, Related

TEXT = """import os  # for later
from sys import argv


class Mine:
    def __init__(self):
        self.x = 1

    def step(self, batch):
        loss = f(batch)
        mean = loss.mean()
        if self.x:
            log(mean.item())  # shown
        return loss
"""


def finding(line: int, code: str = "TRL003") -> Finding:
    return Finding(code, "name", "message", "x.py", Position(line, 1), Position(line, 9))


def pair(old: str, new: str, text: str = TEXT, line: int = 13) -> Pair:
    assert old in text
    return Pair(text.encode(), text.replace(old, new, 1).encode(), (finding(line),))


def test_comments_above_a_statement_are_indented_with_it():
    text = TEXT.replace("            log(mean", "            # what is shown\n            log(mean")
    old = "            # what is shown\n            log(mean.item())  # shown\n"
    new = "            if main:\n                # what is shown\n                log(mean.item())  # shown\n"
    assert check(pair(old, new, text, line=14)) == []
    assert check(pair(old, new, text, line=5)) != []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("log(mean.item())", "log(gather(mean).mean().item())"),
        # The change is where the logged value is bound, before the condition, next to the statement, in __init__, or an
        # import.
        ("loss.mean()", "gather(loss.mean()).mean()"),
        ("        if self.x", "        all_of = gather(mean)\n        if self.x"),
        ("            log(mean", "            all_of = gather(mean)\n            log(mean"),
        ("# shown\n", "# shown\n            again()\n"),
        ("self.x = 1\n", "self.x = 1\n        self.y = 2\n"),
        ("import os", "import torch\nimport os"),
        ("from sys import argv", "from sys import argv, exit"),
        ("from sys import argv", "from sys import (\n    argv,\n    exit,\n)"),
        # The condition is removed, or its rank test.
        ("        if self.x:\n            log(mean.item())", "        log(mean.item())"),
    ],
)
def test_what_a_fix_may_change(old, new):
    text = TEXT if "        log(mean" not in new else TEXT.replace("self.x:", "self.rank == 0:")
    assert check(pair(old.replace("self.x:", "self.rank == 0:") if text != TEXT else old, new, text)) == []


def test_a_fix_may_change_the_other_places_of_its_finding_in_the_same_file():
    at_loss = (b"loss = f(batch)", b"loss = g(batch)")
    for path, failed in (("x.py", []), ("y.py", ["elsewhere"])):
        also = (Related("TRL003", "message", path, Position(10, 1)),)
        one = Pair(TEXT.encode(), TEXT.encode().replace(*at_loss), (replace(finding(13), also=also),))
        assert [said.partition(":")[0] for said in check(one)] == failed


@pytest.mark.parametrize(
    ("old", "new", "failed"),
    [
        ("log(mean.item())", "log(mean.item()", "parses"),
        ("log(mean.item())", "return = 1", "parses"),
        ("  # shown", "", "comments"),
        ("# shown", "# seen", "comments"),
        ("log(mean.item())", "log(\n                # new\n                mean.item())", "comments"),
        ("loss = f(batch)", "loss = g(batch)", "elsewhere"),
        ("return loss", "return mean", "elsewhere"),
        ("        return loss\n", "", "elsewhere"),
        ("        loss = f", "        warm_up()\n        loss = f", "elsewhere"),
        ("class Mine:", "RATE = 1\n\n\nclass Mine:", "elsewhere"),
        ("return loss\n", "return loss", "form"),
        ("log(mean.item())  # shown\n", "log(gather(mean))  # shown\r\n", "form"),
        ("from sys import argv", "from sys import exit", "elsewhere"),
        ("        if self.x:\n            log(mean.item())", "        log(mean.item())", "conditions"),
    ],
)
def test_what_a_fix_may_not_change(old, new, failed):
    assert failed in [said.partition(":")[0] for said in check(pair(old, new))]


def test_encoding_and_byte_order_mark_stay():
    marked = Pair(codecs.BOM_UTF8 + TEXT.encode(), TEXT.encode(), ())
    assert check(marked) == ["form: the byte order mark came or went"]
    text = "# coding: latin-1\n# caf\xe9\nlog(x)\n"
    assert check(Pair(text.encode("latin-1"), text.encode("latin-1"), ())) == []
    assert check(Pair(text.encode("latin-1"), text.encode("utf-8"), ())) != []


def test_the_head_of_a_compound_statement_is_not_its_body():
    text = "def step(batch):\n    if f(batch):\n        log(1)\n        g()\n"
    assert check(pair("f(batch)", "h(batch)", text, line=2)) == []
    assert check(pair("g()", "h()", text, line=2)) != []


# --- a release ------------------------------------------------------------------------------------------

TRAINER = """from transformers import Trainer


class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.log({"kl": loss.detach().mean()})
        if model.config.x:
            pass
        return loss
"""


@pytest.fixture
def release(tmp_path) -> Path:
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "mine.py").write_text(TRAINER)
    (tmp_path / "package" / "broken.py").write_text("import trl\nTrainer.log(gather metrics prepare\n")
    return tmp_path


def mender(release: Path) -> Mender:
    return Mender("mine 1.0", release, sorted(release.glob("*/*.py")))


def test_a_release_is_mended_and_its_files_stay_as_they_are(release):
    outcome = mender(release).outcome(False)
    assert outcome.failures == []
    assert ("package/mine.py", "TRL003") in [(name, each.code) for name, each in outcome.applied]
    assert b"self.accelerator.gather(loss.detach().mean()).mean()" in outcome.pairs["package/mine.py"].after
    assert (release / "package" / "mine.py").read_text() == TRAINER


def test_the_summary_counts_by_level(release):
    outcome = mender(release).outcome(False)
    heading, row = fixes.summary([outcome]).splitlines()
    assert heading.split()[:3] == ["release", "fixes", "files"]
    assert row.split()[:5] == ["mine", "1.0", "safe", "1", str(outcome.levels()["safe"])]


def test_a_diff_is_shown_once(release):
    mine = mender(release)
    first, second = mine.outcome(False), mine.outcome(True)
    shown = set()
    text = "\n".join(fixes.diffs(first, shown))
    assert '+        self.log({"kl": self.accelerator.gather(loss.detach().mean()).mean()})' in text
    assert (list(fixes.diffs(second, shown)) == []) == (second.pairs == first.pairs)


class FakeLinter:
    """A linter that finds `BUG`, with fixes from a table of words."""

    def __init__(self, settings=None, roots=(), rules=()):
        self.settings, self.roots, self.rules = settings, roots, rules
        self.trees, self.overlay = {}, {}

    def may_matter(self, source):
        return True

    def prepare(self, files):
        list(files)

    def check(self, path, source):
        lines = source.decode().splitlines()
        return [finding(number) for number, line in enumerate(lines, 1) if "BUG" in line]

    def fix(self, path, source, *, unsafe=False):
        fixed = source.decode()
        for old, new in self.words.items():
            fixed = fixed.replace(old, new)
        applied = tuple(self.check(path, source)) if fixed != source.decode() else ()
        return fixes_result(fixed.encode(), applied)


def fixes_result(source, applied):
    from trl_lint.linter.results import FixResult

    return FixResult(source, applied, (), ())


@pytest.mark.parametrize(
    ("words", "failed"),
    [
        ({"BUG": "good"}, []),
        ({"BUG": "BUG + 1"}, ["again"]),
        ({"log(BUG)": "log(x)\n    BUG\n    BUG"}, ["new"]),
        ({"def f()": "def g()", "BUG": "good"}, ["elsewhere"]),
    ],
)
def test_what_is_wrong_with_the_mended_release(tmp_path, monkeypatch, words, failed):
    monkeypatch.setattr(FakeLinter, "words", words, raising=False)
    monkeypatch.setattr(fixes, "Linter", FakeLinter)
    monkeypatch.setattr(fixes, "new_linter", lambda root, codes=(): FakeLinter())
    (tmp_path / "a.py").write_text("def f():\n    log(BUG)\n")
    outcome = Mender("fake 1", tmp_path, [tmp_path / "a.py"]).outcome(False)
    assert [said.split(": ")[1] for said in outcome.failures] == failed


# --- the sites of TRL's own bug -------------------------------------------------------------------------

SITES = "def f(self):\n    a = x.mean()\n    b = y.mean()\n    return a\n"


def sites(after: str) -> tuple[list[str], list[str]]:
    outcome = Outcome("trl", False, pairs={"a.py": Pair(SITES.encode(), after.encode(), ())})
    case = {"rule": "TRL003", "sites": [{"file": "a.py", "line": line, "symbol": "f"} for line in (2, 3)]}
    return site_lines(outcome, [case])


def gathered(text: str, *names: str) -> str:
    for name in names:
        text = text.replace(f"{name}.mean()", f"acc.gather({name}.mean()).mean()")
    return text


def test_every_site_is_listed_with_its_new_line():
    said, wrong = sites(gathered(SITES, "x", "y"))
    assert wrong == []
    assert said[:3] == ["  a.py:2 f", "    - a = x.mean()", "    + a = acc.gather(x.mean()).mean()"]
    assert said[5] == "    + b = acc.gather(y.mean()).mean()"


@pytest.mark.parametrize(
    ("after", "wrong"),
    [
        (gathered(SITES, "x"), "a.py:3: is not gathered: b = y.mean()"),
        (gathered(SITES, "x", "y").replace("return a", "return b"), "a.py: lines that are no sites have changed: [4]"),
        (gathered(SITES, "x", "y") + "g()\n", "a.py: lines that are no sites have changed: [5]"),
    ],
)
def test_what_is_wrong_with_the_sites_is_said(after, wrong):
    assert sites(after)[1] == [wrong]


def test_a_file_that_is_not_mended_at_all_is_wrong():
    case = {"rule": "TRL003", "sites": [{"file": "b.py", "line": 1, "symbol": "f"}]}
    assert site_lines(Outcome("trl", False), [case]) == ([], ["b.py: nothing is mended"])


# --- conditions -----------------------------------------------------------------------------------------

GUARDED = "if step % 10 == 0 and rank == 0 and ready:\n    log(x)\nelse:\n    skip()\n"


@pytest.mark.parametrize(
    ("after", "lost"),
    [
        (GUARDED, ""),
        ("if step % 10 == 0 and ready:\n    log(x)\nelse:\n    skip()\n", ""),
        ("if step % 10 == 0 and ready:\n    if rank == 0:\n        log(x)\nelse:\n    skip()\n", ""),
        ("if step % 5 == 0 and ready:\n    log(x)\n", ""),  # rewritten, which other checks cover
        ("if ready:\n    log(x)\n", "`log(x)` without `step % 10 == 0`"),
        ("log(x)\nskip()\n", "`log(x)` without `ready and step % 10 == 0`"),
        ("if step % 10 == 0 and ready:\n    log(gather(x))\n", ""),
    ],
)
def test_conditions_but_those_on_the_rank_stay_around_what_stays(after, lost):
    said = conditions_lost(GUARDED, after)
    assert said.startswith(f"conditions are gone: {lost}") if lost else not said


@pytest.mark.parametrize(
    ("before", "after", "is_lost"),
    [
        ("if not (a or rank):\n    f()\n", "if not a:\n    f()\n", False),
        ("if not (a or rank):\n    f()\n", "f()\n", True),
        ("while a:\n    f()\n", "f()\n", True),
        ("try:\n    if a:\n        f()\nfinally:\n    g()\n", "try:\n    f()\nfinally:\n    g()\n", True),
        ("if a:\n    g()\nelse:\n    f()\n", "g()\nf()\n", True),
        ("if a:\n    f()\nif b:\n    f()\n", "if b:\n    f()\nif a:\n    f()\n", False),
    ],
)
def test_what_a_condition_asks_for(before, after, is_lost):
    assert bool(conditions_lost(before, after)) is is_lost


def test_the_checks_have_a_column_each(release):
    heading, row = fixes.checked([mender(release).outcome(False)]).splitlines()
    assert heading.endswith("applied, by rule")
    assert row.split().count("ok") == len(fixes.CHECKS) + len(fixes.TOGETHER)
    assert "TRL003 1" in row


def test_a_foreign_code_base_that_can_not_be_had_is_left_out(monkeypatch, capsys, release):
    def tree_of(checkout, mirrors):
        if checkout.repository == "a/one":
            return release
        raise NotToBeHad("no network")

    rows = [{"repository": name, "commit": "0" * 40, "verdicts": []} for name in ("a/one", "a/two", "b/three")]
    monkeypatch.setattr(fixes, "load", lambda name: rows)
    monkeypatch.setattr(fixes, "tree_of", tree_of)
    assert list(fixes.foreign_trees("a/", None)) == [("a/one", release)]
    assert "skipped: a/two at 0000000000: no network" in capsys.readouterr().err
    assert fixes.main(["--foreign", "--only", "b/"]) == fixes.NOT_RUN
    assert fixes.main(["--foreign", "--only", "a/one"]) == fixes.PASSED
