"""The cache of the datasets library: each run starts with the user's cache, and leaves nothing for the next run."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from trl_lint.verify.proof.session import Session, Subject
from trl_lint.verify.rank import caches
from trl_lint.verify.rank.job import Job


@pytest.fixture
def users(tmp_path):
    folder = tmp_path / "users"
    for name in ("json/a/data.arrow", "json/a/data.arrow.lock", "half.incomplete/x", "downloads/raw", "b/downloads/y"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "more.arrow").write_text("more")
    (folder / "linked").symlink_to(tmp_path / "elsewhere")
    return folder


def patched(users, own):
    config = SimpleNamespace(HF_DATASETS_CACHE=users)
    caches.patches(Job("", (), "", "", cache=str(own)))["datasets.config"](config)
    return config.HF_DATASETS_CACHE


def test_it_has_what_the_user_has_and_writes_nothing_there(users, tmp_path):
    before = sorted(users.rglob("*"))
    own = patched(users, tmp_path / "own")
    assert own == tmp_path / "own"
    found = {str(path.relative_to(own)) for path in own.rglob("*") if path.is_file()} - {".linked", ".linking"}
    assert found >= {"json/a/data.arrow", "b/downloads/y"} and not found & {"json/a/data.arrow.lock", "downloads/raw"}
    assert (own / "json/a/data.arrow").read_text() == "json/a/data.arrow"
    assert (own / "linked/more.arrow").read_text() == "more"
    (own / "json/a/new.arrow").write_text("new")
    (own / "json/a/data.arrow").unlink()
    assert sorted(users.rglob("*")) == before


def test_all_ranks_have_the_same(users, tmp_path):
    patched(users, tmp_path / "own")
    (tmp_path / "own" / "json/a/data.arrow").unlink()
    assert patched(users, tmp_path / "own") == tmp_path / "own"
    assert not (tmp_path / "own" / "json/a/data.arrow").exists()  # what one rank has done is kept


def test_one_that_is_too_big_is_used_as_it_is(users, tmp_path, monkeypatch):
    monkeypatch.setattr(caches, "MOST_FILES", 3)
    assert patched(users, tmp_path / "own") == patched(users, tmp_path / "own") == users


def test_there_may_be_none(tmp_path):
    assert patched(tmp_path / "none", tmp_path / "own") == tmp_path / "own"


def test_without_a_folder_nothing_is_changed():
    assert caches.patches(Job("", (), "", "")) == {}


# Each rank computes the tokens itself, and all write the same file, unless it exists already.
PREPARES = """\
import sys
from datasets import load_dataset

rows = load_dataset("json", data_files=sys.argv[1], split="train")
print(rows.map(lambda row: {"twice": 2 * row["a"]})["twice"])
"""


@pytest.mark.torch
def test_every_run_prepares_for_itself(launch, server, tmp_path):
    (tmp_path / "train.py").write_text(PREPARES)
    (tmp_path / "rows.json").write_text("\n".join(json.dumps({"a": number}) for number in range(8)))
    subject = Subject("train.py", str(tmp_path / "train.py"), tmp_path, (str(tmp_path / "rows.json"),))
    session = Session(launch, tmp_path / "traces", start=server)
    for label in ("as it is", "as it is, again"):
        judged = session.judge(subject, label)
        assert judged.ended_well, judged.verdicts
        placed = {placed.file for rank in judged.run.ranks for placed in rank.placed}
        made = [file for file in placed if "cache-" in file]
        assert made and all(file.startswith(str(judged.run.folder)) for file in placed), placed
    assert not list((tmp_path / "traces").rglob("*.arrow"))


# The second rank comes when the first would have its file in place: eight rows take it a few milliseconds.
COMES_LATE = """\
import os, sys, time
from datasets import load_dataset
from torch import distributed

distributed.init_process_group("gloo")
rows = load_dataset("json", data_files=sys.argv[1], split="train")
distributed.barrier()
time.sleep(0.4 * int(os.environ["RANK"]))
rows.map(lambda row: {"twice": 2 * row["a"]})
"""


@pytest.mark.torch
def test_a_race_is_found_although_one_rank_is_late(launch, server, tmp_path):
    (tmp_path / "train.py").write_text(COMES_LATE)
    (tmp_path / "rows.json").write_text("\n".join(json.dumps({"a": number}) for number in range(8)))
    subject = Subject("train.py", str(tmp_path / "train.py"), tmp_path, (str(tmp_path / "rows.json"),))
    run = Session(launch, tmp_path / "traces", start=server).judge(subject, "as it is").run
    made = [{placed.file for placed in rank.placed if "cache-" in placed.file} for rank in run.ranks]
    assert len(made) == 2 and made[0] and made[0] == made[1], made
