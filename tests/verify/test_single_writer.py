"""The oracle of files that several ranks write, and what each rank records of them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import trl_lint
from trl_lint.verify.oracles import single_writer
from trl_lint.verify.record.traces import Placed, RankRecord, Run, SourcePlace
from trl_lint.verify.record.verdicts import Outcome

AT = (SourcePlace("/project/train.py", 3, "main"),)


def rank(number: int, *files: str) -> RankRecord:
    return RankRecord(number, placed=[Placed(file, AT) for file in files])


def test_a_file_of_two_ranks_fails_and_says_where():
    verdict = single_writer.judge(Run([rank(0, "/c/one.arrow", "/c/two.arrow"), rank(1, "/c/two.arrow"), rank(2)]))
    assert (verdict.outcome, verdict.kind) == (Outcome.FAILED, "double write")
    assert verdict.summary == "2 ranks wrote the same file, two.arrow"
    assert verdict.evidence == ("rank 0: at train.py:3 (main)", "rank 1: at train.py:3 (main)")


def test_further_files_are_counted():
    both = ("/c/one.arrow", "/c/two.arrow")
    verdict = single_writer.judge(Run([rank(0, *both), rank(1, *both)]))
    assert verdict.summary.endswith("one.arrow, and 1 more")


def test_each_file_of_one_rank_passes():
    assert single_writer.judge(Run([rank(0, "/c/one", "/c/one"), rank(1, "/c/two")])).outcome is Outcome.PASSED


def test_without_files_or_other_ranks_there_is_nothing_to_judge():
    assert single_writer.judge(Run([rank(0), rank(1)])).outcome is Outcome.UNKNOWN
    assert single_writer.judge(Run([rank(0, "/c/one")])).outcome is Outcome.UNKNOWN


def test_a_rank_tells_of_what_it_writes_and_renames_but_for_compiled_code_and_locks(tmp_path):
    script = """
import os, shutil, sys, tempfile
sys.path.insert(0, sys.argv[1])
from trl_lint.verify.rank import trace, writes
from trl_lint.verify.rank.job import Job
trace.current = trace.Trace(trace.trace_path(sys.argv[2], 0))
writes.watch(Job("train.py", (), sys.argv[2], sys.argv[2]))
os.chdir(sys.argv[2])
moves = (("one", os.rename), ("two", os.replace), ("three", shutil.move), ("tiny.cpython-311.pyc", os.replace))
for name, move in moves:
    open("part", "w").close()
    move("part", name)
for name, mode in (("four", "a"), ("four", "w"), ("five.lock", "w"), ("one", "r"), ("/dev/null", "w")):
    open(name, mode).close()
tempfile.NamedTemporaryFile("w", dir=".", prefix="six").close()
"""
    top = Path(trl_lint.__file__).parent.parent
    (tmp_path / "train.py").write_text(script)
    subprocess.run([sys.executable, str(tmp_path / "train.py"), str(top), str(tmp_path)], check=True)
    records = [json.loads(line) for line in (tmp_path / "rank0.jsonl").read_text().splitlines()]
    assert [(each["kind"], re.sub("six.*", "six", Path(each["file"]).name)) for each in records] == [
        ("placed", "part"), ("placed", "one"), ("placed", "two"), ("placed", "three"), ("placed", "four"),
        ("placed", "six"),
    ]  # fmt: skip
