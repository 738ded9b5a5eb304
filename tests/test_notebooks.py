"""Notebooks on the command line: findings by cell and line, fixes in the strings of the lines and nowhere else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from notebooks import notebook, sources_of

import trl_lint
from trl_lint.frontends.cli import main
from trl_lint.linter.files.documents import Documents

SETUP = """\
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model, loader = accelerator.prepare(model, loader)"""
BUG = """\
for batch in loader:
    loss = model(**batch).loss
    total = accelerator.gather(loss.item())"""
FIXED = BUG.replace("loss.item())", "loss).mean().item()")
RAGGED = """\
for batch in loader:
    mask = batch["mask"] > 0
    kept = accelerator.gather(model(**batch).logits[mask])"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def kept(monkeypatch):
    """Results are cached and looked up."""
    monkeypatch.delenv("TRL_LINT_NO_CACHE")


@pytest.fixture
def one_kernel():
    """For the tests of messages on a notebook that starts no processes."""


@pytest.fixture(autouse=True)
def several_processes(request, monkeypatch):
    """All other tests treat each notebook as one that starts processes."""
    if "one_kernel" not in request.fixturenames:
        monkeypatch.setattr(Documents, "starts_no_processes", lambda self, path: False)


def call(*args: str, stdin: str | None = None):
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    return runs.invoke(main, list(args), input=stdin)


def found(*args: str, stdin: str | None = None) -> list[str]:
    """The findings of a concise run: their places and codes."""
    lines = call("--output-format=concise", *args, stdin=stdin).stdout.splitlines()
    return [match[1] for line in lines if (match := re.match(r"(\S+?:(?:cell )?[\d:]+: TRL\d+)", line))]


def write(name: str, *cells: str | tuple[str, str], **layout) -> Path:
    path = Path(name)
    path.write_text(notebook(*cells, **layout), encoding="utf-8")
    return path


# What is found, and how it is reported


def test_findings_are_told_by_cell_and_line(folder):
    write("nb.ipynb", ("markdown", "# Title"), "%pip install -q trl", SETUP, "%%time\n" + BUG)
    assert found() == ["nb.ipynb:cell 4:4:13: TRL001"]
    text = call("--output-format=text").stdout
    assert text.startswith("nb.ipynb:cell 4:4:13: TRL001 [*] ")
    assert "3 |     loss = model(**batch).loss\n4 |     total = accelerator.gather(loss.item())\n" in text
    assert "(nb.ipynb:cell 3:5)" in text


def test_json_has_the_cell_of_each_place(folder):
    write("nb.ipynb", ("markdown", "# Title"), SETUP, "x = 1", BUG)
    (row,) = json.loads(call("--output-format=json").stdout)
    assert (row["cell"], row["location"], row["end_location"]) == (
        4,
        {"row": 3, "column": 13},
        {"row": 3, "column": 44},
    )
    assert [(each["cell"], each["location"]["row"]) for each in row["because"]] == [(2, 5)]
    assert row["noqa_row"] == 3
    (edit,) = row["fix"]["edits"]
    assert edit == {
        "cell": 4,
        "content": ").mean().item(",
        "location": {"row": 3, "column": 36},
        "end_location": {"row": 3, "column": 43},
    }


def test_a_cell_is_as_ruff_counts_it(folder):
    path = write("nb.ipynb", ("markdown", "# Title"), ("raw", "x"), "%%bash\nls", SETUP, "%%time\n" + BUG)
    ruff = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F841,F821", "--output-format=json", path],
        capture_output=True,
        check=False,
    )
    theirs = {(row["cell"], row["location"]["row"]) for row in json.loads(ruff.stdout) if "loader" in row["message"]}
    (finding,) = trl_lint.check(path)
    assert theirs == {(finding.because[0].start.cell, finding.because[0].start.line)}


def test_what_a_cell_defines_is_known_in_those_behind_it(folder):
    write("nb.ipynb", BUG, SETUP)
    assert found() == []
    write("nb.ipynb", SETUP, BUG)
    assert found() == ["nb.ipynb:cell 2:3:13: TRL001"]


def test_a_finding_in_a_helper_names_the_cell_that_calls_it(folder, kept):
    Path("helper.py").write_text("def total_of(accelerator, loss):\n    return accelerator.gather(loss.item())\n")
    write(
        "nb.ipynb",
        SETUP + "\nfrom helper import total_of",
        "for b in loader:\n    total_of(accelerator, model(**b).loss)",
    )
    for _ in range(2):  # the second time from the cache
        done = call("--output-format=text")
        assert done.stdout.startswith("helper.py:2:12: TRL001")
        assert "(nb.ipynb:cell 1:5)" in done.stdout


def test_results_are_kept(folder, kept):
    write("nb.ipynb", SETUP, BUG)
    cached = [call("--output-format=json").stdout for _ in range(2)]
    assert cached == [call("--output-format=json", "--no-cache").stdout] * 2
    assert any("-run-" in each.name for each in Path(".trl_lint_cache").iterdir())
    write("nb.ipynb", SETUP, "\n" + BUG)
    assert json.loads(call("--output-format=json").stdout)[0]["location"]["row"] == 4


def test_the_python_interface_has_the_cell(folder):
    write("nb.ipynb", SETUP, BUG)
    (finding,) = trl_lint.check(".")
    assert (finding.start.cell, finding.start.line, finding.start.column) == (2, 3, 13)
    assert finding.path == str(folder / "nb.ipynb")


# Comments and settings that silence


@pytest.mark.parametrize(
    ("cells", "left"),
    [
        ((BUG + "  # noqa: TRL001", BUG), ["nb.ipynb:cell 3:3:13: TRL001"]),
        (("# noqa\n" + BUG, "# noqa"), ["nb.ipynb:cell 2:4:13: TRL001"]),
        (("# flake8: noqa", BUG), []),
        (("# flake8: noqa: TRL002", BUG), ["nb.ipynb:cell 3:3:13: TRL001"]),
        (("%%writefile x.py\n# flake8: noqa", BUG), ["nb.ipynb:cell 3:3:13: TRL001"]),
    ],
)
def test_comments(folder, cells, left):
    write("nb.ipynb", SETUP, *cells)
    assert found() == left


def test_a_comment_silences_a_cell_of_one_string_by_its_line(folder):
    text = json.loads(notebook(SETUP, BUG + "  # noqa\n" + BUG))
    for cell in text["cells"]:
        cell["source"] = "".join(cell["source"])
    Path("nb.ipynb").write_text(json.dumps(text))
    assert found() == ["nb.ipynb:cell 2:6:13: TRL001"]


def test_per_file_ignores(folder):
    write("nb.ipynb", SETUP, BUG)
    assert found("--per-file-ignores=*.py:TRL001") == ["nb.ipynb:cell 2:3:13: TRL001"]
    assert found("--per-file-ignores=*.ipynb:TRL001") == []


def test_which_notebooks_of_a_folder_are_linted(folder):
    for name in ("a.ipynb", "sub/b.ipynb", ".ipynb_checkpoints/a-checkpoint.ipynb", "left/c.ipynb"):
        Path(name).parent.mkdir(exist_ok=True)
        write(name, SETUP, BUG)
    Path("pyproject.toml").write_text('[tool.trl-lint]\nexclude = ["left"]\n')
    assert found() == ["a.ipynb:cell 2:3:13: TRL001", "sub/b.ipynb:cell 2:3:13: TRL001"]
    assert found("--select=TRL001") == found()


# What can't be read


@pytest.mark.parametrize(
    ("cells", "line"),
    [
        ((SETUP, "x = (1,\n2", BUG), "nb.ipynb:cell 2:1:5: cannot parse: '(' was never closed"),
        ((SETUP, "if x:\n", BUG), "nb.ipynb:cell 2:1:6: cannot parse: expected an indented block"),
        ((SETUP, "x = 1\n  y = 2", BUG), "nb.ipynb:cell 2:2:2: cannot parse: unexpected indent"),
        (("x = (1",), "nb.ipynb:cell 1:1:5: cannot parse: '(' was never closed"),
        ((SETUP + "  # \ud800", BUG), "nb.ipynb:cell 1:1:1: cannot parse: "),
    ],
)
def test_a_cell_that_is_no_python(folder, cells, line):
    path = write("nb.ipynb", *cells, ensure_ascii=True)
    before = path.read_bytes()
    for options in ((), ("--fix",), ("--diff",)):
        done = call("nb.ipynb", *options)
        assert done.exit_code == 2
        assert done.stderr.splitlines()[0].startswith(line)
        assert len(done.stderr.splitlines()) == 1
    assert path.read_bytes() == before


NO_NOTEBOOKS = {
    "cut off": (notebook(SETUP, BUG)[:-30], "nb.ipynb: not a notebook that can be read"),
    "a list": (
        '["from accelerate import Accelerator", "gather()", "item"]',
        "nb.ipynb: not a notebook that can be read",
    ),
    "without cells": ('{"run": "accelerator.gather(1).item()"}', "nb.ipynb: not a notebook that can be read"),
    "an old format": (notebook(SETUP, BUG, form=3), "nb.ipynb: not looked at: a notebook of format 3; known is 4"),
    "another language": (notebook(SETUP, BUG, metadata={"kernelspec": {"language": "R"}}), None),
    "empty": ("", None),
}


@pytest.mark.parametrize("name", NO_NOTEBOOKS)
def test_what_is_no_notebook_of_python(folder, name):
    text, line = NO_NOTEBOOKS[name]
    Path("nb.ipynb").write_text(text)
    below = call()
    named = call("nb.ipynb")
    mended = call("nb.ipynb", "--fix")
    assert [below.exit_code, named.exit_code, mended.exit_code] == [0, *[2 if line else 0] * 2]
    assert {below.stderr, named.stderr, mended.stderr} == {f"{line}\n" if line else ""}
    assert Path("nb.ipynb").read_text() == text


@pytest.mark.parametrize("selected", ["TRL001", "TRL004"])
def test_one_that_is_too_large(folder, monkeypatch, selected):
    write("nb.ipynb", SETUP, BUG)
    monkeypatch.setattr("trl_lint.launch.parsers.readers.LARGEST", 100)
    monkeypatch.setattr("trl_lint.launch.parsers.readers.LARGEST_NOTEBOOK", 200)
    below, named = (call(*each, f"--select={selected}") for each in ([], ["nb.ipynb"]))
    assert (below.exit_code, named.exit_code) == (0, 2)
    assert {below.stderr, named.stderr} == {"nb.ipynb: not looked at: larger than 200 bytes\n"}


def test_cells_of_another_language_are_left_out(folder):
    text = json.loads(notebook(SETUP, "SELECT 1 FROM x", BUG))
    text["cells"][1]["metadata"] = {"vscode": {"languageId": "sql"}}
    Path("nb.ipynb").write_text(json.dumps(text))
    assert found() == ["nb.ipynb:cell 3:3:13: TRL001"]


# Fixes

SIX = (
    ("markdown", "# One bug of each of six rules"),
    "%pip install -q trl\n!nvidia-smi",
    "%%capture\nimport os\n\nimport torch\nimport wandb\nfrom torch.utils.data import DataLoader, random_split",
    "from accelerate import Accelerator\n\naccelerator = Accelerator(project_dir='out')",
    "seed = 0\nrows = load_rows()\ntrain_rows, _ = random_split(rows, [32, 32])",
    "%%time\nmodel, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(train_rows))\n"
    "for batch in loader:\n    logits = model(**batch).logits.reshape(-1, model.config.vocab_size)\n"
    "    accelerator.backward(logits.sum())",
    "for batch in loader:\n    loss = model(**batch).loss\n    total = accelerator.gather(loss.item())\ntotal",
    "for batch in loader:\n    seen = accelerator.reduce(batch['input_ids'].cpu())",
    "for batch in loader:\n    x = model(**batch).logits\n    kept = accelerator.gather(x[batch['mask'] > 0])",
    "path = os.path.join(accelerator.project_dir, 'model.pt')\n"
    "accelerator.save(accelerator.get_state_dict(model), f'{path}.part')\naccelerator.wait_for_everyone()\n"
    "os.replace(f'{path}.part', path)",
)
RULES = ["TRL015", "TRL002", "TRL001", "TRL011", "TRL005", "TRL008"]


def git(*args: str) -> str:
    done = subprocess.run(["git", *args], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("layout", [{}, {"indent": 4, "ensure_ascii": True}])
def test_six_bugs_are_mended_and_nothing_else_is_touched(folder, layout):
    path = write("nb.ipynb", *SIX, **layout)
    before = path.read_text(encoding="utf-8")
    git("init", "-q")
    git("add", "nb.ipynb")
    assert [each.partition(": ")[2] for each in found()] == RULES
    done = call("--fix", "--unsafe-fixes")
    assert done.exit_code == 0
    assert found() == []
    removed, added = (
        {line[1:].strip().removesuffix(",") for line in git("diff", "-U0").splitlines() if re.match(sign, line)}
        for sign in (r"-(?!--)", r"\+(?!\+\+)")
    )
    assert {json.loads(each).strip() for each in removed} == {
        "train_rows, _ = random_split(rows, [32, 32])",
        "logits = model(**batch).logits.reshape(-1, model.config.vocab_size)",
        "total = accelerator.gather(loss.item())",
        "seen = accelerator.reduce(batch['input_ids'].cpu())",
        "kept = accelerator.gather(x[batch['mask'] > 0])",
        "os.replace(f'{path}.part', path)",
    }
    assert {json.loads(each).strip() for each in added} == {
        "train_rows, _ = random_split(rows, [32, 32], generator=torch.Generator().manual_seed(seed))",
        "config = accelerator.unwrap_model(model).config",
        "logits = model(**batch).logits.reshape(-1, config.vocab_size)",
        "total = accelerator.gather(loss).mean().item()",
        "seen = accelerator.reduce(batch['input_ids']).cpu()",
        "kept = accelerator.gather(accelerator.pad_across_processes(x[batch['mask'] > 0], dim=0))",
        "if accelerator.is_main_process:",
        "os.replace(f'{path}.part', path)",
    }
    for text in (before, path.read_text(encoding="utf-8")):
        assert [each.get("outputs") for each in json.loads(text)["cells"]][1:] == [
            each["outputs"] for each in json.loads(before)["cells"][1:]
        ]


def test_what_was_done_is_told_by_cell(folder):
    write("nb.ipynb", SETUP, BUG, RAGGED)
    done = call("--fix", "--output-format=concise")
    assert done.stdout.splitlines()[0].startswith("nb.ipynb:cell 3:3:12: TRL005")
    assert "  nb.ipynb:cell 2:3:13: TRL001 item-before-gather" in done.stdout.splitlines()


def test_the_diff_is_one_that_git_applies(folder):
    path = write("nb.ipynb", SETUP, BUG)
    patch = call("--diff").stdout
    git("init", "-q")
    subprocess.run(["git", "apply", "-"], input=patch, text=True, check=True)
    patched = path.read_text(encoding="utf-8")
    write("nb.ipynb", SETUP, BUG)
    call("--fix")
    assert path.read_text(encoding="utf-8") == patched
    assert sources_of(patched) == [SETUP, FIXED]


def test_standard_input(folder):
    text = notebook(SETUP, BUG)
    assert found("--stdin-filename=sub/nb.ipynb", stdin=text) == ["sub/nb.ipynb:cell 2:3:13: TRL001"]
    done = call("--stdin-filename=nb.ipynb", "--fix", stdin=text)
    assert sources_of(done.stdout) == [SETUP, FIXED]
    assert found("-", stdin=BUG) == []


def test_a_command_in_a_cell_is_mended_with_the_code(folder):
    Path("train.py").write_text("from transformers import Trainer\nTrainer(model=make()).train()\n")
    commands = "%env CUDA_VISIBLE_DEVICES=0,1\nx = 1\n!python train.py\n!python train.py  # noqa"
    path = write("nb.ipynb", commands, SETUP, BUG, "%%bash\npython train.py")
    assert found("nb.ipynb") == [
        "nb.ipynb:cell 1:3:2: TRL004",
        "nb.ipynb:cell 3:3:13: TRL001",
        "nb.ipynb:cell 4:2:1: TRL004",
    ]
    done = call("nb.ipynb", "--fix")
    assert re.findall(r"^  (nb.ipynb:cell [\d:]+) TRL", done.stdout, re.MULTILINE) == [
        "nb.ipynb:cell 1:3:2:",
        "nb.ipynb:cell 3:3:13:",
        "nb.ipynb:cell 4:2:1:",
    ]
    assert sources_of(path.read_text(encoding="utf-8")) == [
        commands.replace("!python train.py\n", "!accelerate launch train.py\n"),
        SETUP,
        FIXED,
        "%%bash\naccelerate launch train.py",
    ]


def test_of_two_commands_alike_the_one_that_is_left_is_told(folder):
    Path("train.py").write_text("from transformers import Trainer\nTrainer(model=make()).train()\n")
    write("nb.ipynb", "!CUDA_VISIBLE_DEVICES=0,1 python3.11 -i train.py", "!CUDA_VISIBLE_DEVICES=0,1 python train.py")
    done = call("nb.ipynb", "--fix", "--output-format=concise")
    assert done.stdout.splitlines()[0].startswith("nb.ipynb:cell 1:1:2: TRL004")
    assert "  nb.ipynb:cell 2:1:2: TRL004 bare-python-launch" in done.stdout.splitlines()


def cells_of(program: str) -> list[str]:
    """A fixture as cells: its text, its imports, and each class or function with a magic above it."""
    text, *others = re.split(r"\n(?=import |from )|\n\n\n", re.sub(r"  # expect: .*", "", program), maxsplit=1)
    imports, *rest = "\n".join(others).split("\n\n\n")
    return [text, "%pip install trl", imports, *(f"%%time\n{each}" for each in rest)]


def test_an_import_goes_to_the_imports(folder):
    """It goes into their cell, and not above the magic of the next one."""
    fixtures = Path(__file__).parents[1] / "fixtures" / "mean_of_means"
    broken, fixed = (cells_of((fixtures / name).read_text(encoding="utf-8")) for name in ("broken.py", "fixed.py"))
    path = write("nb.ipynb", *broken)
    call("nb.ipynb", "--fix", "--unsafe-fixes")
    mended = sources_of(path.read_text(encoding="utf-8"))
    assert mended[1:-1] == fixed[1:-1]
    assert "import torch" in mended[2] and "import torch" not in broken[2]


def test_a_new_line_between_cells_goes_below_the_magic_of_the_one_that_is_mended(folder):
    loop = "for batch in loader:\n    x = model(**batch).logits.reshape(-1, model.config.vocab_size)"
    path = write("nb.ipynb", SETUP, f"%%time\n{loop}", "%%bash\nls", RAGGED)
    done = call("--fix", "--output-format=concise")
    new = "config = accelerator.unwrap_model(model).config\n"
    mended = sources_of(path.read_text(encoding="utf-8"))
    assert mended == [SETUP, f"%%time\n{new}{loop.replace('model.config', 'config')}", "%%bash\nls", RAGGED]
    assert done.stdout.startswith("nb.ipynb:cell 4:3:12: TRL005")
    assert "  nb.ipynb:cell 2:3:43: TRL002 wrapped-model-attribute" in done.stdout.splitlines()
    assert found("--fix") == ["nb.ipynb:cell 4:3:12: TRL005"]
    assert sources_of(path.read_text(encoding="utf-8")) == mended


def test_what_stands_behind_a_magic_is_left_and_all_else_is_mended(folder):
    behind = BUG.replace("    total", "    %time total")
    path = write("nb.ipynb", SETUP, behind, BUG)
    assert found() == ["nb.ipynb:cell 2:3:19: TRL001", "nb.ipynb:cell 3:3:13: TRL001"]
    done = call("--fix")
    assert sources_of(path.read_text(encoding="utf-8")) == [SETUP, behind, FIXED]
    withheld = "nb.ipynb:cell 2:3:19: TRL001 item-before-gather: it would change a line that is not plain Python"
    assert f"Withheld 1 fix:\n  {withheld}\n" in done.stdout
    (row,) = json.loads(call("--output-format=json").stdout)
    assert row["fix"]["edits"] == []


def test_python_files_alone_cost_nothing_of_it(folder):
    Path("x.py").write_text(f"{SETUP}\n{BUG}\n")
    said = "print(*(name for name in sys.modules if '.cells' in name or name == 'markdown_it'))"
    code = f"import sys\nfrom trl_lint.frontends.cli import main\ntry: main(['.'])\nexcept SystemExit: {said}"
    for name, known in (("x.py", False), ("nb.ipynb", True)):
        if known:
            write(name, SETUP, BUG)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ("trl_lint.linter.cells.notebook" in done.stdout.splitlines()[-1]) is known


def test_a_read_only_notebook_is_left(folder):
    path = write("nb.ipynb", SETUP, BUG)
    path.chmod(0o444)
    done = call("--fix")
    assert done.exit_code == 2
    assert "nb.ipynb: not fixed: the file is read-only" in done.stderr
    assert "nb.ipynb:cell 2:3:13: TRL001" in done.stdout


def test_a_byte_order_mark_stays(folder):
    write("nb.ipynb", SETUP, BUG)
    Path("nb.ipynb").write_bytes(b"\xef\xbb\xbf" + Path("nb.ipynb").read_bytes())
    assert found() == ["nb.ipynb:cell 2:3:13: TRL001"]
    call("--fix")
    assert Path("nb.ipynb").read_bytes().startswith(b"\xef\xbb\xbf{")
    assert found() == []


@pytest.mark.parametrize(
    ("start", "found_by_default"),
    [
        ("notebook_launcher(total, (3,), num_processes=2)", True),
        ("!accelerate launch train.py", True),
        ("import ray", True),
        ("import pytorch_lightning as pl\npl.Trainer().fit(model)", True),
        ("from lightning.fabric import Fabric\nFabric(devices=2).launch()", False),
        ("from lightning.fabric import Fabric\nFabric(devices=2).launch(train)", True),
        ("from lightning.fabric import Fabric\nclass Run(Fabric): pass\nRun(devices=2).run()", True),
        ("import pytorch_lightning as pl\npl.utilities.rank_zero_info('3')", False),
        ("import pytorch_lightning as pl\nnotebook_launcher(total, (3,))", True),
        ("subprocess.run(['accelerate', 'launch', 'train.py'])", True),
        ("total(3)", False),
        (("markdown", "It also runs under torchrun."), False),
    ],
)
def test_a_notebook_that_starts_no_processes_is_run_by_its_kernel(folder, one_kernel, start, found_by_default):
    gather = "from accelerate import Accelerator\n\n\ndef total(x):\n    return Accelerator().gather(x.item())\n"
    write("train.ipynb", gather, start)
    for _ in range(2):  # from the cache as well
        assert ("TRL001" in call("train.ipynb").stdout) is found_by_default
    assert "TRL001" in call("--select=TRL001", "train.ipynb").stdout


TRAINS = """\
import shutil
import torch.distributed as dist


def move(folder):
    shutil.move("rows", folder)


class Job:
    def __init__(self, folder):
        dist.init_process_group("nccl")
        self.folder = folder


def train(folder):
    job = Job(folder)
    move(job.folder)
"""


@pytest.mark.parametrize(
    ("cells", "is_found"),
    [
        (("from job import Job, move", "job = Job('out')", "move('out')"), False),
        (("from job import Job, move", "def run():\n    job = Job('out')\n    move('out')", "run()"), False),
        (("from job import Job, move", "notebook_launcher(print)\njob = Job('out')", "move('out')"), False),
        (
            (
                "from accelerate import notebook_launcher\nfrom job import Job, move",
                "def run(folder):\n    job = Job(folder)\n    move(folder)",
                "notebook_launcher(run, args=('out',))",
            ),
            True,
        ),
        (
            (
                "import torch.distributed as dist\nimport torch.multiprocessing as mp\nfrom job import Job, move",
                "def run(rank, folder):\n    job = Job(folder)\n    move(folder)",
                "mp.spawn(run, args=('out',))",
            ),
            True,
        ),
        # What is written to a file is no code of the notebook, but that file.
        (("%%writefile run.py\nfrom job import Job, move\njob = Job('out')\nmove('out')", "!torchrun run.py"), False),
    ],
)
def test_what_the_cells_call_in_other_files_is_called_by_one_process(folder, one_kernel, cells, is_found):
    Path("job.py").write_text(TRAINS.partition("\n\n\ndef train")[0])
    write("train.ipynb", *cells)
    assert ("job.py" in call("--select=TRL008").stdout) is is_found


DRAWS = "import random\n\n\ndef some_of(rows):\n    return random.sample(rows, 100)"
DATA = """\
import lightning as L
from torch.utils.data import DataLoader


class Data(L.LightningDataModule):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def train_dataloader(self):
        return DataLoader(self.rows)"""
FITS = "data = Data(some_of(rows))", "L.Trainer().fit(model, datamodule=data)"
LOADS = """\
from accelerate import Accelerator, notebook_launcher
from torch.utils.data import DataLoader


def train():
    accelerator = Accelerator()
    return accelerator.prepare(DataLoader({rows}))"""


@pytest.mark.parametrize(
    ("cells", "is_found"),
    [
        # The kernel draws, and starts the others as copies of itself.
        ((DRAWS, DATA, *FITS), False),
        ((DRAWS, LOADS.format(rows="rows"), "rows = some_of(rows)", "notebook_launcher(train)"), False),
        # Each process draws.
        ((DRAWS, LOADS.format(rows="some_of(rows)"), "notebook_launcher(train)"), True),
        ((DRAWS, LOADS.format(rows="some_of(rows)"), "train()", "notebook_launcher(train)"), True),
        # One that starts none may become a program.
        ((DRAWS, LOADS.format(rows="some_of(rows)").replace(", notebook_launcher", ""), "train()"), True),
    ],
)
def test_what_a_kernel_draws_before_it_starts_processes_they_all_have(folder, one_kernel, cells, is_found):
    write("train.ipynb", *cells)
    assert ("TRL015" in call("--select=TRL015").stdout) is is_found
    Path("train.ipynb").unlink()
    Path("train.py").write_text("\n\n\n".join(cells))
    assert "TRL015" in call("--select=TRL015").stdout


def test_what_a_function_calls_that_starts_a_group_is_called_by_each_process_wherever_that_is_called(folder):
    Path("job.py").write_text(TRAINS)
    write("train.ipynb", "from job import train", "train('out')")
    assert "job.py" in call("--select=TRL008").stdout


def test_in_one_process_trainer_alone_wraps_the_model(folder, one_kernel):
    prepared = "from accelerate import Accelerator\nmodel = Accelerator().prepare(model)\nmodel.config"
    write("loop.ipynb", prepared)
    assert "TRL002" not in call("loop.ipynb").stdout
    assert "TRL002" in call("--select=TRL002", "loop.ipynb").stdout
    step = "class Mine(Trainer):\n    def training_step(self, model, inputs, num_items_in_batch=None):\n"
    write("trainer.ipynb", f"from transformers import Trainer\n\n\n{step}        model.config\n")
    assert "TRL002" in call("trainer.ipynb").stdout


def test_what_starts_processes_is_seen_when_it_comes(folder, one_kernel, kept):
    gather = "from accelerate import Accelerator\n\n\ndef total(x):\n    return Accelerator().gather(x.item())\n"
    for start, found_by_default in (
        ("", False),
        ("# torchrun train.py", True),
        ("!torchrun train.py", True),
        ("", False),
    ):
        write("train.ipynb", gather, start)
        assert ("TRL001" in call("train.ipynb").stdout) is found_by_default
