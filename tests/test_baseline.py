"""A baseline: it hides old findings, shows new ones, survives moved code, and shrinks by itself."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from adopting import BUG, HEAD, PROGRAM, places, released_trl, run, with_method_last
from forks import module
from markdowns import FENCE

from trl_lint import ConfigError, check
from trl_lint.settings import Settings

TWO = f"""{HEAD}        {BUG}
        return loss

    def prediction_step(self, model, inputs, *args, **kwargs):
        loss = model(**inputs).loss
        self.log({{"shard/eval": loss.detach().mean()}})
        return loss
"""
HIDES = ["--isolated", "--baseline=known.json"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def train(folder) -> Path:
    """A file with two findings that the baseline knows."""
    path = folder / "train.py"
    path.write_text(TWO)
    done = run(*HIDES, "--write-baseline", ".")
    assert done == (0, "known.json: 2 findings in 1 file\n", "")
    return path


def known() -> list[dict[str, object]]:
    return [row for rows in json.loads(Path("known.json").read_text())["findings"].values() for row in rows]


def test_what_it_knows_is_hidden_and_counted(train):
    done = run(*HIDES, ".")
    assert done == (0, "No new findings.\n1 file analysed; 2 findings hidden by the baseline.\n", "")
    concise = run(*HIDES, "--output-format=concise", ".")
    assert concise == (0, "1 file analysed; 2 findings hidden by the baseline.\n", "")
    assert run(*HIDES, "--output-format=json", ".").out == "[]\n"
    assert places("--isolated", ".") == ["train.py:7:9: TRL003", "train.py:12:9: TRL003"]


def test_what_is_written(train):
    data = json.loads(Path("known.json").read_text())
    assert (data["trl-lint-baseline"], data["paths"], list(data["findings"])) == (1, ["."], ["train.py"])
    row = known()[0]
    assert (row["code"], row["name"], row["in"], row["count"]) == (
        "TRL003",
        "unreduced-metric",
        "MyTrainer.compute_loss",
        1,
    )
    again = Path("known.json").read_bytes()
    run(*HIDES, "--write-baseline", ".")
    assert Path("known.json").read_bytes() == again


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from transformers", "# one\n# two\nfrom transformers"),
        (
            BUG,
            'self.log(\n            {\n              "shard/loss": loss.detach().mean(),  # x\n },\n )',
        ),
        (f"        {BUG}", f"        if True:\n            {BUG}"),
        ("MyTrainer(", "OurTrainer("),
        ("        return loss\n\n", "        print(loss)\n        return loss\n\n"),
    ],
)
def test_moving_code_around_changes_nothing(train, old, new):
    before = Path("known.json").read_bytes()
    train.write_text(TWO.replace(old, new, 1))
    assert len(places("--isolated", ".")) == 2
    assert run(*HIDES, ".").err == ""
    assert places(*HIDES, ".") == []
    if new != "OurTrainer(":  # otherwise the entries get the new name
        assert Path("known.json").read_bytes() == before


def test_a_method_that_moves_and_a_file_that_is_renamed(train, folder):
    with_method_last(train, "compute_loss")
    assert places(*HIDES, ".") == []
    train.rename(folder / "trainer.py")
    assert places(*HIDES, ".") == []
    assert list(json.loads(Path("known.json").read_text())["findings"]) == ["trainer.py"]
    assert len(known()) == 2


@pytest.mark.parametrize(
    "new",
    [
        'self.log({"shard/new": loss.detach().mean()})',  # another metric
        BUG,  # the same again
    ],
)
def test_a_new_bug_shows(train, new):
    train.write_text(TWO.replace(f"        {BUG}\n", f"        {BUG}\n        {new}\n"))
    assert places(*HIDES, ".") == ["train.py:8:9: TRL003"]
    assert run(*HIDES, ".").out.endswith("1 file analysed; 2 findings hidden by the baseline.\n")
    assert len(known()) == 2  # it does not grow by itself


def test_comments_are_known_by_their_lines(train):
    first, second = "x = 1  # noqa: mean-of-mean", "y = 2  # noqa: unreduced-metrics"
    text = TWO.replace(BUG, f"{first}\n        {second}")
    train.write_text(text)
    run(*HIDES, "--write-baseline", ".")
    assert [(row["code"], row["in"].partition(".")[2]) for row in known()] == [
        ("TRL003", "prediction_step"),
        ("TRL900", "compute_loss"),
        ("TRL900", "compute_loss"),
    ]
    train.write_text(
        text.replace(first, "x = 1").replace(second, f"z = 1\n        {second}\n        w = 3  # noqa: truncated-gathr")
    )
    assert places(*HIDES, ".") == ["train.py:10:16: TRL900"]
    assert len(known()) == 2


def test_a_copy_in_another_file_is_new(train, folder):
    (folder / "other.py").write_text(TWO)
    assert len(places(*HIDES, ".")) == 2


def test_what_is_mended_leaves_it(train):
    train.write_text(TWO.replace(f"        {BUG}\n", ""))
    done = run(*HIDES, ".")
    assert done.err == "known.json: removed 1 finding that is no longer there\n"
    assert [row["in"] for row in known()] == ["MyTrainer.prediction_step"]
    train.write_text(TWO)
    assert places(*HIDES, ".") == ["train.py:7:9: TRL003"]


def test_what_a_comment_silences_leaves_it_and_so_does_a_file_that_is_gone(train, folder):
    train.write_text(TWO.replace(BUG, f"{BUG}  # noqa: TRL003"))
    assert run(*HIDES, ".").err == "known.json: removed 1 finding that is no longer there\n"
    train.unlink()
    (folder / "x.py").write_text("x = 1\n")
    assert run(*HIDES, ".").err == "known.json: removed 1 finding that is no longer there\n"
    assert known() == []


@pytest.mark.parametrize(
    "args", [["train.py"], ["--ignore=TRL003", "."], ["--select=TRL001", "."], ["--ignore=error", "."], ["--diff", "."]]
)
def test_a_run_that_does_not_see_all_changes_nothing(train, args):
    text = TWO.replace(f"        {BUG}\n", "") if args[0] in ("train.py", "--diff") else TWO
    train.write_text(text)
    before = Path("known.json").read_bytes()
    assert places(*HIDES, *args) == []
    assert Path("known.json").read_bytes() == before


def test_a_file_that_can_not_be_read_keeps_its_entries(train):
    train.write_text(TWO + "(((\n")
    assert run(*HIDES, ".").code == 2
    assert len(known()) == 2


def test_the_setting(train, folder):
    (folder / "pyproject.toml").write_text('[tool.trl-lint]\nbaseline = "known.json"\n')
    assert run(".").out.startswith("No new findings.\n")
    assert check(folder) == []
    done = module("flake8", "--select=TRL", ".", folder=folder)
    assert (done.returncode, done.stdout) == (0, "")
    train.write_text(TWO.replace("return loss", f"{BUG}\n        return loss", 1))
    assert len(check(folder)) == 1
    assert module("flake8", "--select=TRL", ".", folder=folder).stdout.startswith("./train.py:8:9: TRL003")


def test_writing_it_for_a_part_keeps_the_rest(train, folder):
    (folder / "more.py").write_text(PROGRAM)
    train.write_text(PROGRAM)
    assert run(*HIDES, "--write-baseline", "more.py").out == "known.json: 3 findings in 2 files\n"
    assert places(*HIDES, ".") == []
    assert len(known()) == 2


def test_written_again_it_does_not_grow(folder):
    """If a part of a file can't be parsed, or some findings of a rule are excluded, all entries stay, once each."""
    block = f"```python\n{PROGRAM}```\n"
    (folder / "guide.md").write_text(f"{block}\n```python\nfrom transformers import Trainer\nclass (((\n```\n")
    (folder / "train.py").write_text(
        "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        "model = accelerator.prepare(make())\naccelerator.save_state('out')\n"
        "print(model(1).loss.item(), file=open('loss.txt', 'w'))\n"
    )
    (folder / "trl-lint.toml").write_text(
        "extend-include = ['*.md']\nextend-select = ['race']\nper-file-ignores = { '*.py' = ['waste'] }\n"
    )
    counts = []
    for _ in range(3):
        assert run("--baseline=known.json", "--write-baseline", ".").code == 0
        counts.append([(row["code"], row["count"]) for row in known()])
    assert counts[0] == counts[1] == counts[2]
    assert {"TRL003", "TRL008"} == {code for code, _ in counts[0]}


def test_a_part_of_a_project_takes_nothing_out(folder):
    """The finding that `u.py` causes in `sub/h.py` is not found when only that folder is linted."""
    (folder / "pyproject.toml").write_text('[tool.trl-lint]\nbaseline = "known.json"\n')
    (folder / "sub").mkdir()
    (folder / "sub" / "h.py").write_text(
        "def mean(accelerator, losses):\n    return accelerator.gather(losses)\n" + PROGRAM
    )
    (folder / "u.py").write_text(
        "from accelerate import Accelerator\nfrom sub.h import mean\n\n"
        "accelerator = Accelerator()\nmodel = accelerator.prepare(make())\n"
        "for batch in loader:\n    mean(accelerator, model(batch).loss.item())\n"
    )
    assert run("--write-baseline", ".").out == "known.json: 2 findings in 1 file\n"
    before = Path("known.json").read_bytes()
    assert run("--write-baseline", "sub").out == "known.json: 2 findings in 1 file\n"
    assert places(".") == []
    text = before.decode().replace('"paths": ["."]', '"paths": []')
    Path("known.json").write_text(text)
    assert places("sub") == [] and Path("known.json").read_text() == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "cannot read the baseline: No such file or directory; --write-baseline makes it"),
        ("[]", "not a baseline of trl-lint: Expected `object`, got `array`"),
        ("{", "not a baseline of trl-lint: "),
        ('{"trl-lint-baseline": 9, "paths": [], "findings": {}}', "a baseline of another version"),
        ('{"trl-lint-baseline": 2, "found": {}}', "a baseline of another version"),
        ('{"trl-lint-baseline": 1, "paths": [], "findings": {"a": [{"code": 1}]}}', "not a baseline of trl-lint: "),
        (f'{{"trl-lint-baseline": {"9" * 5000}}}', "not a baseline of trl-lint: "),
        ("[" * 100_000, "not a baseline of trl-lint: "),
    ],
)
def test_what_is_no_baseline_is_one_line(folder, text, said):
    (folder / "train.py").write_text(PROGRAM)
    if text is not None:
        (folder / "known.json").write_text(text)
    done = run(*HIDES, ".")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"trl-lint: known.json: {said}")
    with pytest.raises(ConfigError):
        check(folder, Settings(root=folder, baseline="known.json"))


def test_where_it_can_not_be_written(folder):
    (folder / "train.py").write_text(PROGRAM)
    assert run("--isolated", "--write-baseline", ".").err == (
        "trl-lint: --write-baseline needs --baseline FILE, or the setting `baseline`\n"
    )
    done = run("--isolated", "--baseline=gone/known.json", "--write-baseline", ".")
    assert done == (2, "", "gone/known.json: not written: No such file or directory\n")
    (folder / "broken.py").write_text("import torch.distributed as dist\ndist.all_gather(((\n")
    assert run(*HIDES, "--write-baseline", ".").code == 2
    assert sorted(path.name for path in folder.iterdir()) == ["broken.py", "train.py"]


@pytest.mark.parametrize("text", ['{"trl-lint-baseline": 2, "found": {}}', None])
def test_what_can_not_be_gone_by_is_written_again(folder, text):
    """A baseline of another version, and a broken link."""
    (folder / "train.py").write_text(PROGRAM)
    if text is None:
        (folder / "known.json").symlink_to("gone.json")
    else:
        (folder / "known.json").write_text(text)
    assert "write" in run(*HIDES, ".").err
    assert run(*HIDES, "--write-baseline", ".") == (0, "known.json: 1 finding in 1 file\n", "")
    assert places(*HIDES, ".") == []
    (folder / "known.json").write_text("[]")
    assert run(*HIDES, "--write-baseline", ".").code == 2 and (folder / "known.json").read_text() == "[]"


@pytest.mark.parametrize("count", [10**9, 99999999999999999999])
def test_a_count_may_be_any_number(train, count):
    text = Path("known.json").read_text().replace('"count": 1', f'"count": {count}')
    Path("known.json").write_text(text)
    assert places(*HIDES, "train.py") == [] and str(count) in text


def test_a_name_that_is_not_utf_8(folder):
    name = os.fsdecode(b"a\xff.py")
    try:
        Path(name).write_text(PROGRAM)
    except OSError:
        pytest.skip("this file system has no such names")
    assert run(*HIDES, "--write-baseline", ".") == (0, "known.json: 1 finding in 1 file\n", "")
    before = Path("known.json").read_bytes()
    assert places("--isolated", ".") != [] == places(*HIDES, ".")
    assert run(*HIDES, "--write-baseline", ".").code == 0 and Path("known.json").read_bytes() == before


@pytest.mark.parametrize("more", [[], ["--write-baseline"]])
def test_a_setting_that_can_be_no_path(folder, more):
    (folder / "trl-lint.toml").write_text('baseline = "known\\u0000"\n')
    (folder / "train.py").write_text(PROGRAM)
    done = run(*more, ".")
    assert done == (2, "", "trl-lint: baseline: a path has no NUL\n")


PAGE = Path(__file__).parents[1] / "docs" / "adopting.md"


def test_what_the_page_says_is_what_happens(folder):
    """The commands of the page in order, and the read-only ones in its text."""
    (folder / "train.py").write_text(TWO)
    text = PAGE.read_text(encoding="utf-8")
    blocks = [fence["text"] for fence in FENCE.finditer(text) if fence["language"] == "console"]
    first, second, third = (command.split()[1:] for block in blocks for command in block.splitlines())
    assert run(*first).out == "known.json: 2 findings in 1 file\n"
    assert run(*second).out.startswith("No new findings.\n")
    assert run(".").code == 1
    named = [command.split() for command in re.findall(r"`trl-lint (--[^`]+)`", text)]
    looks = [words for words in named if words[0] != "--fix-only"]
    assert [run(*words).code for words in looks] == [1, 0, 0, 0] and len(named) == 5
    assert run(*third).out.startswith("Silenced 2 findings in 1 file.\n")
    assert run(".").code == 0


@pytest.mark.slow
@pytest.mark.index
def test_a_release(tmp_path):
    """Exactly today's findings of trl 0.13.0; moved, fixed, and with a new bug among them."""
    tree = released_trl(tmp_path)
    total = len(places("."))
    assert run("--baseline=known.json", "--write-baseline", ".").out.startswith(f"known.json: {total} findings in ")
    trainers = tree / "trl" / "trainer"
    with_method_last(trainers / "dpo_trainer.py", "get_batch_loss_metrics")
    for name in ("cpo_trainer.py", "kto_trainer.py"):
        path = trainers / name
        path.write_text("# moved\n" * 7 + path.read_text(encoding="utf-8"), encoding="utf-8")
    done = run("--baseline=known.json", ".")
    assert (done.code, done.err) == (0, "") and total > 40
    assert done.out.startswith("No new findings.\n")
    assert done.out.endswith(f"; {total} findings hidden by the baseline.\n")
    orpo = trainers / "orpo_trainer.py"
    lines = orpo.read_text(encoding="utf-8").splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if 'metrics[f"{prefix}rewards/chosen"] =' in line)
    indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
    new = f'{indent}metrics[f"{{prefix}}rewards/chosen_max"] = chosen_rewards.max()\n'
    lines[place] = new + f'{indent}metrics[f"{{prefix}}rewards/chosen"] = 0.0\n'
    orpo.write_text("".join(lines), encoding="utf-8")
    done = run("--baseline=known.json", "--output-format=concise", ".")
    assert [line.partition(" [")[0] for line in done.out.splitlines()[:-2]] == [
        f"release/trl/trainer/orpo_trainer.py:{place + 1}:{len(indent) + 1}: TRL003"
    ]
    assert done.err == "known.json: removed 1 finding that is no longer there\n"
    assert sum(row["count"] for row in known()) == total - 1
