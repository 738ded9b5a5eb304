"""`trl-lint explain FILE:LINE`: the facts of the names on a line, and their reasons."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner, Result
from notebooks import notebook

from trl_lint.frontends.cli import main

LOOP = """
from accelerate import Accelerator
from torch.utils.data import DataLoader

accelerator = Accelerator()
model, loader = accelerator.prepare(build(), DataLoader(rows))
for batch in loader:
    loss = model(**batch).loss
    mean = accelerator.gather(loss).mean()
    if accelerator.is_main_process:
        print(loss.item())
"""


def explain(folder: Path, text: str, marker: str, *options: str) -> Result:
    """The explanation of the line with these words."""
    path = folder / "train.py"
    path.write_text(dedent(text).lstrip("\n"))
    line = next(n for n, each in enumerate(path.read_text().splitlines(), 1) if marker in each)
    return CliRunner().invoke(main, ["explain", f"{path}:{line}", "--isolated", *options])


def facts(folder: Path, text: str, marker: str) -> dict[str, list[str]]:
    """By name, the known facts; "" has the facts on which ranks reach the line."""
    done = explain(folder, text, marker, "--output-format", "json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.output)
    named = {each["name"]: [fact["fact"] for fact in each["facts"]] for each in document["names"]}
    return {"": [fact["fact"] for fact in document["reached"]], **named}


def test_a_value_of_this_rank_and_what_made_it_so(tmp_path: Path) -> None:
    done = explain(tmp_path, LOOP, "print(")
    assert done.exit_code == 0
    assert done.output.splitlines()[1:] == [
        "  not all ranks get here together",
        f"      because: `.is_main_process` depends on the rank ({tmp_path}/train.py:9)",
        f"      because: `accelerator.is_main_process` differs between ranks ({tmp_path}/train.py:9)",
        "",
        "`loss`, `loss.item()`",
        "  differs between ranks: computed from this rank's own data (a mean)",
        f"      because: each rank gets its own batches from this loader ({tmp_path}/train.py:5)",
    ]


def test_a_name_that_occurs_again_with_the_same_facts_is_shown_once(tmp_path: Path) -> None:
    text = """
        class Window:
            def __init__(self, size):
                self.size, self.sums = size, []

            def mean(self, loss):
                return sum(self.sums[-self.size:]) / min(self.size, len(self.sums)) + loss
    """
    done = explain(tmp_path, text, "return")
    assert [each for each in done.output.splitlines() if "Window" in each] == ["  an object of `Window`"]
    assert [each for each in done.output.splitlines() if each.startswith("`self`")] == ["`self`"]
    assert len({each["location"]["column"] for each in named_in(tmp_path, text, "return", "self")}) == 4


def named_in(folder: Path, text: str, marker: str, name: str) -> list[dict]:
    """The rows of a name in the report for programs, one for each place."""
    document = json.loads(explain(folder, text, marker, "--output-format", "json").output)
    return [each for each in document["names"] if each["name"] == name]


def test_what_is_reduced_is_the_same_and_says_so(tmp_path: Path) -> None:
    found = facts(tmp_path, LOOP, "mean =")
    assert found[""] == ["all ranks get here together"]
    assert found["mean"] == ["the same on all ranks (reduced over them)"]
    assert found["loss"] == ["differs between ranks: computed from this rank's own data (a mean)"]


def test_the_target_of_a_loop_and_its_loader(tmp_path: Path) -> None:
    found = facts(tmp_path, LOOP, "for batch")
    assert found["batch"] == ["differs between ranks: this rank's share of the data"]
    assert found["loader"] == ["a data loader: each rank gets its own batches"]


def test_parameters_have_a_fact_for_each_way_in_which_a_function_is_called(tmp_path: Path) -> None:
    text = """
    import torch.distributed as dist


    def note(value):
        return value


    note(dist.get_rank())
    note(dist.get_world_size())
    """
    found = facts(tmp_path, text, "def note")
    assert sorted(found["value"]) == ["differs between ranks: depends on the rank", "the same on all ranks"]


def test_a_wrapped_model_and_an_elif(tmp_path: Path) -> None:
    text = """
    from trl import SFTTrainer


    class Mine(SFTTrainer):
        def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
            if self.args.plain:
                pass
            elif model.config.is_encoder_decoder:
                pass
            return super().compute_loss(model, inputs)
    """
    assert facts(tmp_path, text, "elif")["model"] == ["a model inside its wrapper (DDP or the like)"]


def test_what_other_files_hand_to_a_function_counts_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "start.py").write_text(
        "import torch.distributed as dist\nfrom train import note\n\nnote(dist.get_rank())\ndist.barrier()\n"
    )
    text = "def note(value):\n    return value\n"
    assert facts(tmp_path, text, "def note")["value"] == ["not known whether it differs between ranks"]
    done = explain(tmp_path, text, "def note", str(tmp_path / "start.py"))
    assert "differs between ranks: depends on the rank" in done.output


STATEMENTS = """
import os
from accelerate import Accelerator
def go():
    for step in range(3):
        if os.getpid() % 2:
            break
        if step == 2:
            pass
        continue
go()
"""


@pytest.mark.parametrize(
    ("marker", "reached"),
    [("import os", True), ("from acc", True), ("def go", True), ("break", False), ("pass", False), ("continue", False)],
)
def test_a_line_without_names_says_which_ranks_get_there(tmp_path: Path, marker: str, reached: bool) -> None:
    said = facts(tmp_path, STATEMENTS, marker)[""]
    assert len(said) == 1
    assert (said[0] == "all ranks get here together") is reached


def test_a_line_that_is_never_run_says_so(tmp_path: Path) -> None:
    done = explain(tmp_path, "def f(x):\n    return x\n    x.mean()\n", "x.mean")
    assert "no code on this line runs" in done.output
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("train.py", "`train.py` is not FILE:LINE"),
        ("train.py:x", "`train.py:x` is not FILE:LINE"),
        pytest.param(f"train.py:{'9' * 5000}", "is not FILE:LINE", id="digits"),
        ("train.py:99", "train.py: has no line 99"),
        ("missing.py:1", "missing.py: cannot read: No such file or directory"),
        ("broken.py:1", "broken.py:1:7: "),
        ("run.sh:1", "run.sh: is not Python"),
        ("train.py:cell 1:1", "train.py: has no cells"),
        ("cells.ipynb:1", "cells.ipynb: is a notebook: name the cell as well, as in `cells.ipynb:cell 1:1`"),
        ("cells.ipynb:cell 1:9", "cells.ipynb: has no line 9 of Python in cell 1"),
        ("cells.ipynb:cell 7:1", "cells.ipynb: has no line 1 of Python in cell 7"),
        ("cells.ipynb:cell 1:1", "cells.ipynb:cell 2:1:7: cannot parse"),
        ("empty.ipynb:cell 1:1", "empty.ipynb: "),
    ],
)
def test_what_can_not_be_explained_gets_one_line(tmp_path: Path, monkeypatch, place: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("x = 1\n")
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "run.sh").write_text("python train.py\n")
    (tmp_path / "cells.ipynb").write_text(notebook("x = 1\n", "def f(:\n"))
    (tmp_path / "empty.ipynb").write_text("")
    done = CliRunner().invoke(main, ["explain", place])
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


BELOW_SETTINGS = """
import torch.distributed as dist
from somewhere import ready

def main(cfg):
    dist.init_process_group("nccl")
    for _ in range(cfg.rounds):
        print("round")
        for step in range(10):
            if not ready(step):
                continue
            print("step")

main(None)
"""


def test_settings_are_no_reason_why_ranks_may_not_get_somewhere_together(tmp_path: Path) -> None:
    settled = explain(tmp_path, BELOW_SETTINGS, 'print("round")').output
    assert "all ranks get here together, or none does" in settled and "because" not in settled
    opened = explain(tmp_path, BELOW_SETTINGS, 'print("step")').output
    assert "whether `not ready(step)` is the same on all ranks" in opened and "range(cfg.rounds)" not in opened


HELPER = """
import torch.distributed as dist

def save(is_main):
    if is_main:
        dist.barrier()
"""
PROGRAM = """
import torch.distributed as dist
from lib.saving import save

dist.init_process_group("nccl")
save(dist.get_rank() == 0)
"""
KNOWN, UNKNOWN = "not all ranks get here together", "it is not known whether all ranks get here together"


@pytest.mark.parametrize(
    ("mark", "here", "reached"),
    [
        ("", ".", KNOWN),
        ("pyproject.toml", ".", KNOWN),
        ("pyproject.toml", "lib", KNOWN),
        # The current folder is where it would be linted from; without a mark, nothing else says what the project is.
        ("", "lib", UNKNOWN),
        ("", "beside", UNKNOWN),
        ("lib/setup.py", ".", UNKNOWN),
    ],
)
def test_who_calls_a_function_is_read_in_the_project_or_the_current_folder(
    tmp_path: Path, monkeypatch, mark: str, here: str, reached: str
) -> None:
    for folder in ("lib", "beside"):
        (tmp_path / folder).mkdir()
    (tmp_path / "train.py").write_text(PROGRAM)
    (tmp_path / "lib" / "saving.py").write_text(HELPER)
    if mark:
        (tmp_path / mark).touch()
    monkeypatch.chdir(tmp_path / here)
    done = CliRunner().invoke(main, ["explain", f"{tmp_path}/lib/saving.py:6"])
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[1].strip() == reached


# --- notebooks -------------------------------------------------------------------------------------------

CELLS = (
    "from accelerate import Accelerator\naccelerator = Accelerator()\n",
    "!ls\ndef main(model, loader):\n    loader = accelerator.prepare(loader)\n    for batch in loader:\n"
    "        print(model(batch).loss)\n",
)


def test_a_line_of_a_cell_is_explained_with_places_in_cells(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.ipynb").write_text(notebook(*CELLS))
    done = CliRunner().invoke(main, ["explain", "train.ipynb:cell 2:5"])
    assert done.exit_code == 0, done.output
    first, *_, last = done.output.splitlines()
    assert first == "train.ipynb:cell 2:5: print(model(batch).loss)"
    assert last.startswith("      because: ") and last.endswith(" (train.ipynb:cell 2:3)")
    shown = CliRunner().invoke(main, ["explain", "train.ipynb:cell 2:5", "--output-format", "json"])
    document = json.loads(shown.stdout)
    assert (document["cell"], document["line"]) == (2, 5)
    assert {each["name"]: each["location"] for each in document["names"]}["batch"] == {"row": 5, "column": 21}
    assert {step["cell"] for each in document["names"] for fact in each["facts"] for step in fact["because"]} == {2}


def test_a_line_that_is_no_python_is_shown_as_it_is_written(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.ipynb").write_text(notebook(*CELLS))
    assert (
        CliRunner().invoke(main, ["explain", "train.ipynb:cell 2:1"]).output.startswith("train.ipynb:cell 2:1: !ls\n")
    )
