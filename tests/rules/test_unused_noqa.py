"""TRL900: comments that silence nothing, or that name no rule, and the results of `--fix`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from trl_lint import check
from trl_lint.findings import Applicability, Finding
from trl_lint.frontends.cli import main
from trl_lint.rules.sharded_parameter_read import ShardedParameterRead
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parents[2] / "fixtures" / "unused_noqa" / "comments"
MARK = re.compile(r"[ \t]*# expect: (?P<codes>[A-Z0-9, ]+)$", re.MULTILINE)
HEAD = """\
from transformers import Trainer


class MyTrainer(Trainer):
    def compute_loss(self, model, inputs, **kwargs):
        loss = model(**inputs).loss
"""
BUG = 'self.log({"shard/loss": loss.detach().mean()})'


def stale(folder: Path, text: str, name: str = "train.py", **settings) -> list[Finding]:
    """The findings on the comments of a file, in a run on its folder."""
    (folder / name).write_text(text, encoding="utf-8")
    found = check(folder, Settings(root=folder, **settings))
    return [each for each in found if each.code == "TRL900"]


def mended(folder: Path, text: str, *options: str) -> str:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8", newline="")
    CliRunner().invoke(main, ["--isolated", "--select=TRL9,TRL0", "--ignore=TRL003", "--fix", *options, str(folder)])
    return path.read_bytes().decode()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.py")), ids=lambda path: path.stem)
def test_the_marks_of_the_fixtures(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    marks = [(number, MARK.search(line)) for number, line in enumerate(text.splitlines(), 1)]
    wanted = [number for number, mark in marks if mark and "TRL900" in mark["codes"]]
    assert [each.start.line for each in stale(tmp_path, text)] == wanted
    assert bool(wanted) == path.stem.startswith("broken")


@pytest.mark.parametrize(("name", "options"), [("", ["--select=ALL"]), ("_misspelt", ["--select=TRL900"])])
def test_the_fix_makes_the_fixed_twin(name, options, tmp_path):
    path = tmp_path / "train.py"
    path.write_text(MARK.sub("", (FIXTURES / f"broken{name}.py").read_text(encoding="utf-8")), encoding="utf-8")
    for _ in range(2):
        CliRunner().invoke(main, ["--isolated", "--fix", "--unsafe-fixes", *options, str(tmp_path)])
        assert path.read_text(encoding="utf-8") == (FIXTURES / f"fixed{name}.py").read_text(encoding="utf-8")


def test_what_is_said(tmp_path):
    (first, second) = stale(tmp_path, "x = 1  # noqa: TRL001, TRL003\ny = 2  # noqa: mean-of-mean\n")
    assert (first.start.column, first.end.column) == (8, 30)
    assert first.message == "`TRL001` and `TRL003` in `# noqa` silence nothing: there is no such finding here"
    assert first.fix.applicability is Applicability.SAFE
    assert first.consequence.severity.value == "warning"
    said = "`mean-of-mean` in `# noqa` is not a rule, so it silences nothing; did you mean `mean-of-means`?"
    assert second.message == said
    assert second.fix.applicability is Applicability.UNSAFE
    assert second.fix.reason == "it would silence a finding that is reported now"


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# noqa: TRL777", "`TRL777` in `# noqa` is not a rule"),
        ("# noqa: TRL-003", "did you mean `TRL003`?"),
        ("# noqa: Unreduced_Metric", "did you mean `unreduced-metric`?"),
        ("# noqa: E501, unreduced-metrik because", "did you mean `unreduced-metric`?"),
        ("# trl-lint: ignore[nonsense] -- reason", "`nonsense` in `# trl-lint: ignore` is not a rule"),
        ("# trl-lint: ignore", "names no rule"),
    ],
)
def test_a_word_that_is_no_rule_silences_nothing(comment, said, tmp_path):
    text = f"{HEAD}        {BUG}  {comment}\n"
    (found,) = stale(tmp_path, text)
    assert said in found.message
    assert [each.code for each in check(tmp_path, Settings(root=tmp_path))] == ["TRL003", "TRL900"]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("x = 1  # noqa: TRL001", "x = 1"),
        ("x = 1  # noqa: TRL001 as rank 0 alone logs", "x = 1  # as rank 0 alone logs"),
        ("x = 1  # noqa: TRL001 -- as rank 0 alone logs", "x = 1  # as rank 0 alone logs"),
        ("x = 1  # noqa: TRL001,E501", "x = 1  # noqa: E501"),
        ("x = 1  # noqa:E501,TRL001,F401 why", "x = 1  # noqa:E501,F401 why"),
        ("x = 1  # type: ignore  # noqa: TRL001", "x = 1  # type: ignore"),
        ("x = 1  # noqa: TRL001  # type: ignore", "x = 1  # type: ignore"),
        ("x = 1  # trl-lint: ignore[mean-of-means]", "x = 1"),
        ("x = 1  # trl-lint: ignore[mean-of-means] -- why", "x = 1  # why"),
        ("x = 1  # noqa: E501  # noqa: TRL001", "x = 1  # noqa: E501"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_all_else_stays(comment, left, end, tmp_path):
    assert mended(tmp_path, f"a = 0{end}{comment}{end}b = 'é'") == f"a = 0{end}{left}{end}b = 'é'"


def test_a_line_with_nothing_but_the_comment_goes(tmp_path):
    assert mended(tmp_path, "a = 0\n    # noqa: TRL001\n# flake8: noqa: TRL002\nb = 1\n") == "a = 0\nb = 1\n"


@pytest.mark.parametrize(
    "settings", [{"ignore": ("TRL003",)}, {"select": ("TRL900",)}, {"per_file_ignores": (("train.py", ("TRL003",)),)}]
)
def test_a_code_that_this_run_does_not_look_for_is_not_judged(settings, tmp_path):
    assert stale(tmp_path, "x = 1  # noqa: TRL003\n", **settings) == []
    assert len(stale(tmp_path, "x = 1  # noqa: TRL003\n")) == 1


def test_a_prefix_is_judged_where_all_that_it_stands_for_is_looked_for(tmp_path, monkeypatch):
    assert len(stale(tmp_path, "x = 1  # noqa: TRL01\n")) == 1
    monkeypatch.setattr(ShardedParameterRead, "preview", True)
    assert len(stale(tmp_path, "x = 1  # noqa: TRL01\n", preview=True)) == 1
    assert stale(tmp_path, "x = 1  # noqa: TRL01\n") == []


def test_what_is_not_in_the_default_set_counts_as_silenced(tmp_path):
    text = (
        "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        "model, loader = accelerator.prepare(make(), load())\nfor batch in loader:\n    model(**batch)\n"
        "accelerator.unwrap_model(model).save_pretrained('out')  # noqa: TRL008\n"
    )
    assert stale(tmp_path, text) == []
    assert [each.start.line for each in stale(tmp_path, text.replace("out')", "out'); x = 1"))] == []
    assert len(stale(tmp_path, text.replace("  # noqa: TRL008", "\nx = 1  # noqa: TRL008"))) == 1


def test_a_file_that_is_named_alone_is_not_judged(tmp_path):
    """A finding in it may only appear together with another file."""
    (tmp_path / "train.py").write_text("x = 1  # noqa: TRL003\ny = 2  # noqa: unreduced-metrics\n")
    assert [each.start.line for each in check(tmp_path / "train.py", Settings(root=tmp_path))] == [2]
    assert [each.start.line for each in check(tmp_path, Settings(root=tmp_path))] == [1, 2]


def test_a_part_of_a_project_is_not_judged(tmp_path):
    """The callers of its code may be elsewhere."""
    (tmp_path / "pyproject.toml").write_text("")
    folder = tmp_path / "pkg" / "sub"
    folder.mkdir(parents=True)
    text = "def mean(accelerator, losses):\n    return accelerator.gather(losses)  # noqa: TRL001 -- known\n"
    (folder / "helper.py").write_text(text)
    (tmp_path / "pkg" / "train.py").write_text(
        "from accelerate import Accelerator\nfrom pkg.sub.helper import mean\n\n"
        "accelerator = Accelerator()\nmodel = accelerator.prepare(make())\n"
        "for batch in loader:\n    mean(accelerator, model(batch).loss.item())\n"
    )
    for named in (folder, tmp_path / "pkg", tmp_path):
        done = CliRunner().invoke(main, ["--no-cache", "--fix", str(named)])
        assert done.exit_code == 0 and (folder / "helper.py").read_text() == text
    (tmp_path / "pkg" / "train.py").unlink()
    assert check([folder, tmp_path / "pkg"]) == []
    assert [each.code for each in check(tmp_path)] == ["TRL900"]


def test_it_can_be_silenced_itself(tmp_path):
    assert stale(tmp_path, "x = 1  # noqa: TRL003, TRL900\ny = 2  # noqa: TRL003, unused-noqa\n") == []
    assert stale(tmp_path, "# flake8: noqa\nx = 1  # noqa: TRL003\n") == []


def test_shell_scripts_are_looked_at_and_prose_is_not(tmp_path):
    text = "python prepare.py  # noqa: TRL004\necho done\n"
    assert [each.start.line for each in stale(tmp_path, text, "train.sh")] == [1]
    assert [Path(each.path).name for each in stale(tmp_path, f"```bash\n{text}```\n", "README.md")] == ["train.sh"]
    start = "export CUDA_VISIBLE_DEVICES=0,1\npython train.py  # noqa: TRL004\n"
    (tmp_path / "train.py").write_text("from trl import SFTTrainer\nSFTTrainer(args=1).train()\n")
    assert stale(tmp_path, start, "train.sh") == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.sh", 'sed -i "s/# noqa: TRL004 -- //" train.sh\n'),
        ("train.sh", 'echo "# noqa: TRL004" >> train.sh\n'),
        ("train.sh", 'python make.py --comment "# noqa: TRL001, E501"\n'),
        ("train.sh", 'echo "it\\"s\n  # noqa: TRL004\n"\n'),
        ("train.sh", "cat <<END\n# noqa: TRL004\nEND\n"),
        ("train.sh", "echo a# noqa: TRL004\n"),
        ("Makefile", "all:\n\techo '# noqa: TRL004'\n"),
        ("Snakefile", 'rule a:\n    shell:\n        """\n        # noqa: TRL004\n        ls\n        """\n'),
        ("ci.yml", 'jobs:\n  a:\n    steps:\n      - run: |\n          echo "# noqa: TRL004"\n'),
        ("train.py", "# use # noqa: item-before-gather to hide it\n"),
        ("train.py", "x = 1  # TODO: write  # noqa: TRL001 there\n"),
    ],
)
def test_what_is_in_a_string_or_in_prose_is_no_comment(name, text, tmp_path):
    assert stale(tmp_path, text, name) == []
    assert len(stale(tmp_path, text + "# noqa: TRL001\n", name)) == 1


def test_a_fix_that_would_change_a_command_is_a_hint(tmp_path):
    """A Dockerfile has no comments after an instruction."""
    (found,) = stale(tmp_path, 'FROM python\nCMD ["python", "prepare.py"] # noqa: TRL001\n', "Dockerfile")
    assert found.fix.applicability is Applicability.DISPLAY


def test_kept_results_say_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("TRL_LINT_NO_CACHE", "0")
    (tmp_path / "pyproject.toml").write_text("[tool.trl-lint]\n")
    (tmp_path / "train.py").write_text(f"{HEAD}        {BUG}  # noqa: TRL003, TRL001\n")
    said = [
        [row["message"] for row in json.loads(CliRunner().invoke(main, ["--output-format=json", str(tmp_path)]).stdout)]
        for _ in range(2)
    ]
    assert said[0] == said[1] == ["`TRL001` in `# noqa` silences nothing: there is no such finding here"]
    assert (tmp_path / ".trl_lint_cache").is_dir()
