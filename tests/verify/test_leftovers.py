"""What a run has created is removed before the next one; existing files, and files that may belong to others, stay."""

from __future__ import annotations

import os

import pytest

from trl_lint.verify.proof import leftovers
from trl_lint.verify.proof.session import Session, Subject
from trl_lint.verify.record.traces import RankRecord, Run

# Creates files in each of the ways that are distinguished, and prints where its temporary files are.
MAKES = """\
import os, sys, tempfile
import torch
print(tempfile.gettempdir())
os.makedirs("out/deep", exist_ok=True)
if os.environ.get("RANK", "0") == "0":
    torch.save({}, "model.pt")
    open("data/new.txt", "w").close()
    open("data/mine.txt", "a").write("more")
    open("out/part", "w").close()
    os.rename("out/part", "renamed")
    for word in sys.argv[1:]:
        os.rename(word, "out/" + os.path.basename(word))
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "project" / "data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / "project" / "data" / "mine.txt").write_text("mine")
    (tmp_path / "project" / "train.py").write_text(MAKES)
    return tmp_path / "project"


def judged(launch, server, project, *args, **options):
    def start(launch, job, plain):
        return server(launch, job, plain, folder=project)

    session = Session(launch, project.parent / "traces", start=start, **options)
    subject = Subject("train.py", str(project / "train.py"), project, args)
    return [session.judge(subject, label).run for label in ("as it is", "as it is, again")]


def there(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


@pytest.mark.torch
def test_each_run_finds_what_the_first_one_found(launch, server, project):
    before = there(project)
    runs = judged(launch, server, project)
    assert there(project) == before
    assert (project / "data" / "mine.txt").read_text() == "minemoremore"  # existing files are never touched
    first, second = ({*leftovers._outermost({path for rank in run.ranks for path in rank.created})} for run in runs)
    assert first == second and str(project / "out") in first  # if it were left, the second run would not create it
    folders = {rank.output.split()[-1] for run in runs for rank in run.ranks}
    assert len(folders) == 2 and not any(map(os.path.exists, folders))


@pytest.mark.torch
def test_it_goes_to_the_traces_that_are_kept(launch, server, project):
    before = there(project)
    run, _ = judged(launch, server, project, keeps=True)
    kept = run.folder / "made" / project.relative_to("/")
    assert there(project) == before
    assert there(kept) == ["data", "data/new.txt", "model.pt", "out", "out/deep", "renamed"]


@pytest.mark.torch
def test_a_file_of_the_users_that_is_moved_among_them_is_kept(launch, server, project):
    (project / "data" / "rows.txt").write_text("rows")
    judged(launch, server, project, "data/rows.txt")
    assert (project / "out" / "rows.txt").read_text() == "rows"


@pytest.mark.torch
def test_all_stays_where_that_is_wanted(launch, server, project):
    judged(launch, server, project, tidies=False)
    assert {"model.pt", "out/deep", "renamed"} <= set(there(project))


def test_a_rank_may_remove_what_another_one_has_made(tmp_path):
    (tmp_path / "out").mkdir()
    first, second = RankRecord(0, created=[str(tmp_path / "out")]), RankRecord(1, removed=[str(tmp_path / "out" / "x")])
    leftovers.remove_created(Run([first, second]), None)
    assert not (tmp_path / "out").exists()


def test_links_are_not_followed(tmp_path):
    (tmp_path / "users").mkdir()
    (tmp_path / "users" / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "users")
    leftovers.remove_created(Run([RankRecord(0, created=[str(tmp_path / "link")])]), None)
    assert there(tmp_path) == ["users", "users/file"]
