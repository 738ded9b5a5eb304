"""A script that fails on one process as well has no multi-process bug: that is reported, and no fixed copy is run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from fake_runs import SCRIPT, Runs, failed, printed, session, well

from trl_lint.findings import Finding, Position
from trl_lint.frontends.cli import main
from trl_lint.launch.checker import checked
from trl_lint.launch.training.launch_project import LaunchProject
from trl_lint.settings import Settings
from trl_lint.verify import cli
from trl_lint.verify.cli import FORMATS
from trl_lint.verify.oracles import termination
from trl_lint.verify.processes import launcher
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import mending, proofs
from trl_lint.verify.proof.mending import FixedCopy
from trl_lint.verify.proof.session import BARE, Session, Subject
from trl_lint.verify.record.traces import Run

SUBJECT = Subject("train.py", SCRIPT, Path("/p"))
FINDING = Finding("TRL003", "unreduced-metric", "", SCRIPT, Position(31, 5), Position(31, 9))


# --- what is run ----------------------------------------------------------------------------------------


@pytest.fixture
def prove(tmp_path, monkeypatch):
    """The proof of a script whose line 31 is fixed, and the labels of its runs."""
    monkeypatch.setattr(mending, "write_fixed_copy", lambda *_: FixedCopy(findings=[FINDING], applied=[FINDING]))
    monkeypatch.setattr(mending, "files_to_fix", lambda *_: [Path(SCRIPT)])
    monkeypatch.setattr(mending, "files_of", lambda *_: [])

    def made(runs, *, one_process=True, bare=False, **launch):
        started = Runs(runs)
        runner = Session(replace(Launch("python"), **launch), tmp_path, start=started)
        settings = Settings(root=tmp_path)
        proof = proofs.of_script(SUBJECT, runner, settings, [], one_process=one_process, bare=bare)
        return proof, started

    return made


def test_the_same_failure_on_one_process_ends_it(prove):
    runs = {"as it is": [[failed(0, 14), failed(1, 14)]], "on one process": [[failed(0, 14)]]}
    proof, started = prove(runs)
    assert started.asked == ["as it is", "on one process"]
    assert proof.alone is not None and not proof.holds
    assert [column.judged.label for column in proof.columns] == ["as it is"]


@pytest.mark.parametrize(
    "alone", [well(), failed(0, 20), failed(0, 14, "no such model")], ids=["passes", "another line", "another reason"]
)
def test_a_failure_of_several_processes_is_gone_into(prove, alone):
    runs = {"as it is": [[failed(0, 14), failed(1, 14)]], "on one process": [[alone]], "fixed": [[well(0), well(1)]]}
    proof, started = prove({**runs, "one process": [[well()]]})
    assert proof.alone is None
    assert [column.judged.label for column in proof.columns] == ["as it is", "fixed"]
    # A script that fails may only need the variables of a group.
    assert started.asked.count("on one process") == (1 if alone.ended_well else 2)


def test_numbers_and_folders_may_differ(prove):
    first = [failed(rank, 14, f"cannot bind 127.0.0.1:{20000 + rank}") for rank in range(2)]
    runs = {"as it is": [first], "on one process": [[failed(0, 14, "cannot bind 127.0.0.1:31234")]]}
    assert prove(runs)[0].alone is not None


def test_a_group_of_one_is_tried_where_plain_python_fails_otherwise(prove):
    runs = {"as it is": [[failed(0, 14), failed(1, 14)]], "on one process": [[failed(0, 3, "RANK")], [failed(0, 14)]]}
    proof, started = prove(runs)
    assert proof.alone is not None
    plain, grouped = (dict(launch.environment) for launch in started.launches[1:])
    assert "RANK" not in plain and (grouped["RANK"], grouped["WORLD_SIZE"]) == ("0", "1")


def test_what_fails_at_a_mended_line_is_mended(prove):
    runs = {"as it is": [[failed(0, 31, reached=(31,)), failed(1, 31)]], "fixed": [[well(0), well(1)]]}
    proof, started = prove({**runs, "one process": [[well()]], "as it is again": [[failed(0, 31), failed(1, 31)]]})
    assert proof.alone is None and len(proof.columns) == 2 and "on one process" not in started.asked


def test_it_is_not_tried_where_no_one_process_is_wanted(prove):
    runs = {"as it is": [[failed(0, 14), failed(1, 14)]], "fixed": [[failed(0, 14), failed(1, 14)]]}
    proof, started = prove(runs, one_process=False)
    assert proof.alone is None and started.asked == ["as it is", "fixed"]


def test_it_is_not_tried_on_several_machines(prove):
    runs = {"as it is": [[failed(0, 14), failed(1, 14)]], "fixed": [[failed(0, 14), failed(1, 14)]]}
    assert prove(runs, nnodes="2")[1].asked == ["as it is", "fixed"]


def test_a_right_script_is_not_run_once_more(prove):
    runs = {"as it is": [[well(0), well(1)]], "one process": [[well()]], "fixed": [[well(0), well(1)]]}
    assert "on one process" not in prove(runs)[1].asked


def test_what_bare_python_fails_at_is_tried_in_a_group_of_one(prove):
    """If it needs the variables of a group, it needs several processes."""
    runs = {"bare python 2 emulated GPUs": [[failed(0, 3, "RANK")]], "on one process": [[failed(0, 3, "RANK")]]}
    proof, started = prove(runs, bare=True)
    assert proof.alone is not None and started.asked == ["bare python 2 emulated GPUs", "on one process"]
    assert dict(started.launches[1].environment)["RANK"] == "0"


def test_of_a_launch_file_nothing_more_is_started(tmp_path):
    (tmp_path / "train.py").write_text("from transformers import Trainer\nTrainer().train()\n")
    (tmp_path / "run.sh").write_text("CUDA_VISIBLE_DEVICES=0,1 python train.py\n")
    project = LaunchProject.of(Settings(root=tmp_path), [tmp_path])
    (launch,) = checked(tmp_path / "run.sh", (tmp_path / "run.sh").read_bytes(), project).launches
    asked = []

    def start(launch, job, plain):
        asked.append(plain)
        return Run([failed(0, 14)])

    runner = session(tmp_path / "traces", start)
    proof = proofs.of_launch(launch, Settings(root=tmp_path), runner, one_process=True)
    assert proof.alone is not None and asked == [True, True] and len(proof.columns) == 1


@pytest.mark.parametrize("way", ["hang", "left early"])
def test_a_hang_is_no_failure_of_one_process(tmp_path, way):
    started = Runs({"on one process": [[failed(0, 14)]]})
    assert session(tmp_path, started).end_on_one_process(SUBJECT, termination.failed("ends", way, "they wait")) is None
    assert started.asked == []


def test_a_launch_may_set_variables_of_a_group_itself(tmp_path):
    started = Runs({"on one process": [[failed(0, 14)]]})
    subject = replace(SUBJECT, launcher=BARE, environment=(("MASTER_PORT", "1"), ("STEPS", "2")))
    session(tmp_path, started).end_on_one_process(subject, termination.judge(Run([failed(0, 14)])))
    given = dict(started.launches[0].environment)
    assert given["STEPS"] == "2" and given["MASTER_PORT"] != "1"


# --- what is said ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_so(prove, name):
    runs = {"as it is": [[failed(0, 14, "no_model"), failed(1, 14, "no_model")]]}
    proof, _ = prove({**runs, "on one process": [[failed(0, 14, "no_model")]]})
    text = printed(name, proof).replace("\\", "")
    there = "OSError: no_model (at train.py:14 (<module>))"
    last = f"It fails on one process as well: not a multi-process bug. There: {there}."
    assert last in text
    assert "has no fix" not in text and "when fixed" not in text
    if name == "json":
        (subject,) = json.loads(text)["subjects"]
        assert subject["alone"]["data"]["error"] == "OSError" and subject["conclusion"] == last
    else:
        assert "fix not tried: /p/train.py:31:5: TRL003" in text


@pytest.mark.parametrize("extra", [[], ["--exit-zero"]])
def test_the_exit_code_says_so(tmp_path, monkeypatch, extra):
    """The exit code is that of other subjects that can't be judged."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("print(1)\n")
    monkeypatch.setattr(launcher, "run", lambda launch, job, *, plain: Run([failed(0, 14), failed(1, 14)][: 2 - plain]))
    monkeypatch.setattr(cli, "_require", lambda *_: None)
    done = CliRunner().invoke(main, ["verify", *extra, "train.py"])
    assert (done.exit_code, "not a multi-process bug" in done.output) == (2, True)


# --- with real processes --------------------------------------------------------------------------------

ARGUMENTS = """\
import argparse
import torch
from accelerate import Accelerator

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=1)
parser.parse_args(["--stpes", "2"])
accelerator = Accelerator(cpu=True)
print(accelerator.gather(torch.ones(3).sum().item()))
"""
MODEL = """\
from transformers import AutoModelForCausalLM

AutoModelForCausalLM.from_pretrained("no/model")
"""
IMPORT = "import torch\nimport no_such_module\n"
# Without the variables of a group it does not get as far as the failure.
GROUP = """\
import os
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
open(f"/no/such/shard-{rank}")
"""
# It fails only with several ranks.
SHARDS = GROUP.replace("open(", "if rank:\n    open(")
# A group of one fails here as well, but the line is fixed.
NUMBER = """\
import os
import torch
from accelerate import Accelerator

print(os.environ["RANK"])
accelerator = Accelerator(cpu=True)
print(accelerator.gather(torch.ones(3).sum().item()))
"""


@pytest.fixture
def run(launch, server, tmp_path):
    def made(text):
        path = tmp_path / "train.py"
        path.write_text(text)
        asked = []
        runner = Session(launch, tmp_path / "traces", start=server, tell=lambda said: asked.append(said.split(": ")[1]))
        subject = Subject("train.py", str(path), tmp_path)
        proof = proofs.of_script(subject, runner, Settings(root=tmp_path), [], one_process=True, bare=False)
        return proof, asked

    return made


@pytest.mark.torch
@pytest.mark.parametrize(
    ("text", "said", "times"),
    [
        (ARGUMENTS, "unrecognized arguments: --stpes 2 (at train.py:7 (<module>))", 1),
        (MODEL, "OSError: ", 1),
        (IMPORT, "ModuleNotFoundError: No module named 'no_such_module' (at train.py:2 (<module>))", 1),
        (GROUP, "FileNotFoundError: [Errno 2] No such file or directory: '/no/such/shard-0'", 2),
    ],
    ids=["a wrong argument", "a missing model", "a missing module", "in a group of one"],
)
def test_a_script_that_fails_on_one_process(run, text, said, times):
    proof, asked = run(text)
    assert asked == ["as it is", *["on one process"] * times]
    last = printed("text", proof).splitlines()[-1]
    assert last.startswith("It fails on one process as well: not a multi-process bug. There: ") and said in last


@pytest.mark.torch
def test_a_script_that_fails_on_several_alone(run):
    proof, asked = run(SHARDS)
    assert asked == ["as it is", *["on one process"] * 2] and proof.alone is None
    assert printed("text", proof).splitlines()[-1] == "It fails, and trl-lint has no fix to try."


@pytest.mark.torch
def test_a_mended_line_that_a_group_of_one_fails_at(run):
    proof, _ = run(NUMBER)
    assert proof.alone is None
    assert [column.holds for column in proof.columns] == [False, True]
