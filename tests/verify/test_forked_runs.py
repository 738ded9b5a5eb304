"""Runs that are forks: the first one is started by its launcher, and forks are only used if they are equivalent."""

from __future__ import annotations

import json
import os
import sys

import pytest
from processes import left

from trl_lint.verify.processes import forked_runs, launcher
from trl_lint.verify.processes.fork_server import ForkServer
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.rank.importing import Imported
from trl_lint.verify.rank.job import Job
from trl_lint.verify.record.traces import RankRecord, Run

pytestmark = pytest.mark.skipif(not forked_runs.HAS_FORKS, reason="needs Linux")
# A library that reads the environment and the files next to the script when it is imported.
LIBRARY = """\
import os
value = os.environ.get("OF_LIBRARY")
try:
    import optional_one
except ImportError:
    pass
"""
SAYS = (
    "import json, os, sys\nprint(json.dumps([os.environ.get('RANK'), 'installed_one' in sys.modules, sys.argv[1:]]))\n"
)


@pytest.fixture
def project(tmp_path, monkeypatch):
    installed = tmp_path / "site-packages"
    installed.mkdir()
    (installed / "installed_one.py").write_text(LIBRARY)
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "train.py").write_text(SAYS)
    monkeypatch.setenv("PYTHONPATH", str(installed))
    return tmp_path / "project"


@pytest.fixture
def started(monkeypatch):
    """The runs, and the jobs that a launcher started; the latter record the library, as first runs do."""
    jobs = []
    usual = launcher.run

    def run(launch, job, *, plain=False):
        jobs.append(job)
        if plain:
            return usual(launch, job, plain=True)
        variables = [{"RANK": str(rank), "WORLD_SIZE": "2", "OF_LAUNCHER": "1"} for rank in (0, 1)]
        return Run([RankRecord(n, imported=("installed_one",), variables=own) for n, own in enumerate(variables)])

    monkeypatch.setattr(launcher, "run", run)
    with forked_runs.forked_runs() as runs:
        yield runs, jobs


def job(project, number, **fields):
    folder = project.parent / "traces" / str(number)
    return Job(str(project / "train.py"), ("a",), str(folder), str(project), **fields)


def said(run):
    return [json.loads(rank.output.splitlines()[-1]) for rank in run.ranks]


def test_the_first_run_is_the_launchers_and_those_behind_it_are_forks(project, started):
    runs, jobs = started
    launch = Launch(sys.executable)
    runs(launch, job(project, 1), False)
    assert [each.records_imports for each in jobs] == [True]
    assert said(runs(launch, job(project, 2), False)) == [["0", True, ["a"]], ["1", True, ["a"]]]
    assert said(runs(launch, job(project, 3), True)) == [[None, True, ["a"]]]
    assert len(jobs) == 1


@pytest.mark.parametrize("change", ["variable", "hidden", "imported", "emulated"])
def test_where_a_fork_is_not_the_same_the_launcher_starts_it(project, started, change):
    runs, jobs = started
    launch, fields = Launch(sys.executable), {}
    runs(launch, job(project, 1), False)
    assert said(runs(launch, job(project, 3), True))[0][1] is True
    if change == "variable":
        launch = launch.with_environment(OF_LIBRARY="2")
    elif change == "hidden":
        (project / "optional_one.py").touch()
    elif change == "imported":
        fields["files"] = (str(project.parent / "site-packages" / "installed_one.py"),)
    else:
        fields["gpus"] = 2
    assert said(runs(launch, job(project, 2, **fields), True))[0][1] is False
    assert len(jobs) == 2


def test_a_gpu_that_is_there_or_a_rank_that_told_nothing_leaves_all_to_the_launcher():
    for ranks in ([RankRecord(0, imported=("torch",), accelerator=True)], [RankRecord(0)]):
        learned = forked_runs._Learned()
        learned.add(Launch("python", nproc=1), Run(ranks))
        assert not learned.modules


def test_an_import_that_fails_is_said(project):
    assert Imported(["no_such_library"]).problem == "ModuleNotFoundError at the import of no_such_library"


def test_a_variable_that_differs_from_rank_to_rank_is_fine_unless_an_import_has_read_it(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "reads_rank.py").write_text("import os\nos.environ.get('RANK')\nprint(dict(os.environ.items()))\n")
    ranks = frozenset({"RANK", "LOCAL_RANK"})
    imported = Imported(["reads_rank"])
    monkeypatch.setattr(imported, "problem", "")
    monkeypatch.setattr(imported, "_tops", set())
    asked = Job("train", (), "", "", is_module=True)
    assert imported.unfit(asked, {**os.environ, "LOCAL_RANK": "1", "TMPDIR": "other"}, ranks) == ""
    assert "RANK differs" in imported.unfit(asked, {**os.environ, "RANK": "1"}, ranks)
    assert "OTHER differs" in imported.unfit(asked, {**os.environ, "OTHER": "1"}, ranks)
    sys.modules.pop("reads_rank")


def test_no_server_outlives_whoever_started_it():
    server = ForkServer(sys.executable, dict(os.environ), [], [])
    server.close()
    assert not left([server._process.pid])
