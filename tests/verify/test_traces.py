"""The traces of a run are read back, complete or not."""

from __future__ import annotations

import json

import pytest

from trl_lint.verify.rank.call_stack import UserFiles
from trl_lint.verify.rank.job import Job
from trl_lint.verify.rank.trace import Trace, output_path, stacks_path, trace_path
from trl_lint.verify.record.traces import NativeCall, SourcePlace, read_run

CALL = {"name": "all_reduce", "group": None, "op": "SUM", "dtype": "float32", "shape": [2], "device": "cpu", "at": []}


@pytest.fixture
def trace(tmp_path):
    return Trace(trace_path(str(tmp_path), 0))


def only(folder, root="/project"):
    (rank,) = read_run(folder, UserFiles(root)).ranks
    return rank


def test_records_are_read_back(trace, tmp_path):
    trace.write("start", rank=0, pid=1)
    trace.write("group", backend="gloo", world_size=4)
    trace.write("call", number=0, **CALL)
    trace.write("done", number=0)
    trace.write("call", number=1, **{**CALL, "group": [0, 2], "at": [["/project/train.py", 3, "main"]]})
    trace.write("log", sink="wandb.log", values={"loss": float("nan"), "rows": 2.0}, at=[])
    trace.write("loss", value=1.5)
    trace.write("step", grad_norm=None)
    trace.write("moved", by=1)
    trace.write("native", collectives=[["gloo:all_reduce", [[2]], None, []]], total=1)
    trace.write("end", status=1, error="ValueError", said="no", at=[["/project/train.py", 4, "main"]])
    trace.write("exit", status=-6, asked_to_stop=True)
    rank = only(tmp_path)
    assert [(call.number, call.group) for call in rank.calls] == [(0, None), (1, (0, 2))]
    assert rank.pending is rank.calls[1]
    assert rank.pending.at == (SourcePlace("/project/train.py", 3, "main"),)
    assert (rank.world_size, rank.losses, rank.grad_norms, rank.moved) == (4, [1.5], [None], True)
    assert rank.logs[0].values["loss"] != rank.logs[0].values["loss"]
    assert (rank.end.status, rank.end.error, rank.end.message) == (1, "ValueError", "no")
    assert str(rank.end.at[0]) == "train.py:4 (main)"
    assert (rank.exit, rank.asked_to_stop, rank.ended_well) == (-6, True, False)
    assert rank.native == [NativeCall("gloo:all_reduce", [[2]])]


def test_a_last_line_that_was_cut_is_left_out(trace, tmp_path):
    trace.write("call", number=0, **CALL)
    whole = trace_path(str(tmp_path), 0).read_bytes()
    for end in range(1, len(whole)):
        trace_path(str(tmp_path), 0).write_bytes(whole + whole[:-end])
        assert len(only(tmp_path).calls) == (2 if end == 1 else 1)


def test_records_of_kinds_unknown_are_passed_over(trace, tmp_path):
    trace.write("of tomorrow", value=1)
    trace.write("exit", status=0, asked_to_stop=False)
    assert only(tmp_path).exit == 0


def test_what_json_does_not_know_is_written_by_its_name(trace, tmp_path):
    trace.write("call", number=0, **{**CALL, "op": {1, 2}})
    assert only(tmp_path).calls[0].op == "{1, 2}"


def test_ranks_are_in_the_order_of_their_numbers(tmp_path):
    for number in (10, 2, 0):
        Trace(trace_path(str(tmp_path), number)).write("start", rank=number)
    assert [rank.number for rank in read_run(tmp_path, UserFiles("/project")).ranks] == [0, 2, 10]


def test_an_abort_is_read_from_what_the_rank_printed(trace, tmp_path):
    trace.write("exit", status=-6, asked_to_stop=False)
    output_path(str(tmp_path), 0).write_bytes(
        b"step 1 \xff\nterminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
        b"  what():  [enforce fail at pair.cc:456] 6 vs 4.  Different sizes\nmore\n"
    )
    assert only(tmp_path).aborted == ("gloo::EnforceNotMet", "[enforce fail at pair.cc:456] 6 vs 4. Different sizes")


def test_the_stack_is_that_of_the_main_thread(trace, tmp_path):
    trace.write("start", rank=0)
    stacks_path(str(tmp_path), 0).write_text(
        "Thread 0x00007f01 (most recent call first):\n"
        '  File "/project/loader.py", line 3 in load\n\n'
        "Current thread 0x00007f02 (most recent call first):\n"
        '  File "/venv/lib/python3.11/site-packages/torch/nn/module.py", line 5 in forward\n'
        '  File "/project/train.py", line 7 in main\n'
        '  File "/project/train.py", line 9 in <module>\n'
    )
    assert only(tmp_path).stack == (SourcePlace("/project/train.py", 7, "main"),)


def test_a_job_is_read_as_it_was_written(tmp_path):
    job = Job(
        script="/project/train.py",
        args=("--lr", "1e-3", "ünï"),
        traces=str(tmp_path),
        root="/project",
        is_module=True,
        timeout=2.5,
        backend="gloo",
        sources={"/project/a.py": "/copies/a.py"},
        shift=1,
        scale=4,
        files=("/elsewhere/b.py",),
    )
    job.save(tmp_path / "job.json")
    assert Job.load(str(tmp_path / "job.json")) == job


def test_each_record_is_one_line_with_its_time(trace, tmp_path):
    trace.write("loss", value=1.0, text="a\nb\u2028c")
    (text,) = trace_path(str(tmp_path), 0).read_text().split("\n")[:-1]
    assert json.loads(text)["time"] > 0
