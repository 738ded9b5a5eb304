"""The command for a machine with GPUs, as far as it can be tested without one."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from evaluation.gpu import __main__ as command
from evaluation.gpu import all_fixtures, checks, machine
from evaluation.gpu.checks import Bench
from evaluation.gpu.machine import Machine
from evaluation.gpu.rows import Row, not_run, page, softly
from trl_lint.verify.proof import fixtures
from trl_lint.verify.proof.session import BARE, Judged
from trl_lint.verify.record.traces import End, RankRecord, Run
from trl_lint.verify.record.verdicts import failed, passed

HERE = Machine(("H1", "H1"), "570.1", "12.8", "2.27.3", {"torch": "2.13.0"})


def judged(*verdicts):
    return Judged("as it is", Run([RankRecord(0, end=End(0, 0))]), list(verdicts))


class TestWhatIsLacking:
    @pytest.fixture
    def torch(self, monkeypatch):
        cuda = SimpleNamespace(is_available=lambda: True, device_count=lambda: 1)
        torch = SimpleNamespace(__version__="2.13.0", version=SimpleNamespace(cuda="12.8"), cuda=cuda)
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setattr(machine, "find_spec", lambda name: name)
        return torch

    def test_nothing(self, torch):
        assert machine.lacking() == ""

    def test_packages(self, torch, monkeypatch):
        monkeypatch.setattr(machine, "find_spec", lambda name: None if name in ("trl", "datasets") else name)
        assert machine.lacking() == "not installed: datasets, trl"

    def test_cuda(self, torch):
        torch.version.cuda = None
        assert machine.lacking() == "torch 2.13.0 is built without CUDA"

    def test_a_gpu(self, torch):
        torch.cuda.is_available = lambda: False
        assert machine.lacking() == "torch 2.13.0 finds no GPU"

    def test_it_is_one_line_on_the_standard_error(self, monkeypatch, capsys):
        monkeypatch.setattr(machine, "lacking", lambda: "torch 2.13.0 finds no GPU")
        assert command.main([]) == 2
        said = capsys.readouterr()
        assert said.err == "evaluation.gpu: torch 2.13.0 finds no GPU\n" and not said.out


class TestTheTable:
    ROWS = (Row("a", "b", "c | d\nmore", True), Row("e", "f", "x" * 500, False), not_run("g", "h", "one GPU"))

    def test_it_names_the_machine_and_what_was_not_run(self):
        text = page(HERE, self.ROWS, 61.2)
        assert "2 of H1; driver 570.1, CUDA 12.8, nccl 2.27.3; torch 2.13.0." in text
        assert "| a | b | c \\| d more | yes |" in text
        assert "| g | h | not run: one GPU | not run |" in text
        assert "1 of 2 as expected, 1 not run; 61 s." in text
        assert max(map(len, text.splitlines())) < 300

    def test_what_raises_is_a_row(self):
        row = softly("a", "b", lambda: 1 / 0)
        assert row.holds is False and "ZeroDivisionError" in row.seen

    @pytest.mark.parametrize(("holds", "code"), [(True, 0), (None, 0), (False, 1)])
    def test_the_exit_code_is_that_of_what_ran(self, holds, code, monkeypatch, tmp_path):
        monkeypatch.setattr(machine, "lacking", str)
        monkeypatch.setattr(machine, "this_machine", lambda: HERE)
        monkeypatch.setattr(command, "_rows", lambda *given: iter([Row("a", "b", "c", holds)]))
        assert command.main(["--output", str(tmp_path / "gpu.md")]) == code
        assert "| a | b | c |" in (tmp_path / "gpu.md").read_text()


class TestTheChecks:
    def test_with_one_gpu_what_needs_two_is_not_run(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Bench, "judged", lambda *args, **kwargs: judged(passed("ends", "all")))
        for name in ("precise", "stock"):
            monkeypatch.setattr(checks, name, lambda bench, _: ("nothing fails", True))
        rows = list(checks.checks(Bench(tmp_path, 1)))
        missing = [row.what for row in rows if row.holds is None]
        assert [what for what in missing if "nccl, two processes" in what] and all(
            "two processes" in what or "DataParallel" in what for what in missing
        )
        assert len([what for what in missing if "DataParallel" in what]) == 2
        assert {row.seen for row in rows if row.holds is None} == {"not run: one GPU"}

    def test_a_hang_needs_the_line_of_each_rank(self):
        lines = checks.places(checks.PROGRAMS / "hangs.py", "waits")
        told = [f"rank {rank}: waits at hangs.py:{line} (<module>)" for rank, line in lines.items()]
        assert checks.hangs(judged(failed("ends", "hang", "they wait", told)))[1]
        assert not checks.hangs(judged(failed("ends", "hang", "they wait", told[:1])))[1]
        assert not checks.hangs(judged(failed("ends", "exception", "it raises", told)))[1]
        assert not checks.hangs(judged(passed("ends", "all")))[1]

    def test_when_the_time_is_up_the_others_are_not_run(self, tmp_path):
        bench = Bench(tmp_path, 1, end=0)
        rows = list(all_fixtures.rows(bench))
        assert len(rows) == len(all_fixtures.programs())
        assert {row.seen for row in rows} == {"not run: the time was up"}
        assert {row.seen for row in checks.checks(bench)} == {"not run: the time was up", "not run: one GPU"}

    def test_what_is_not_asked_for_is_neither_run_nor_shown(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Bench, "judged", lambda *args, **kwargs: judged(passed("ends", "all")))
        monkeypatch.setattr(all_fixtures, "programs", tuple)
        monkeypatch.setattr(checks, "stock", lambda bench, trainer: (trainer, True))
        monkeypatch.setattr(checks, "precise", None)
        rows = list(command._rows(tmp_path, 1, float("inf"), "trl's own trainer"))
        assert [row.seen for row in rows] == list(checks.TRAINERS)

    def test_each_program_of_the_fixtures_is_there_once_and_each_rule_early(self):
        programs = all_fixtures.programs()
        wanted = sum(
            (one is not None and one.launcher != BARE) + (other is not None)
            for one, other in map(fixtures.subjects, fixtures.fixtures())
        )
        assert len(programs) == len({(each.name, broken) for each, broken in programs}) == wanted
        first = [fixture.rule for fixture, _ in programs][: len(fixtures.expected_failures())]
        assert set(first) == set(fixtures.expected_failures())

    def test_what_needs_devices_gets_them_where_there_are_enough(self, tmp_path):
        of_devices, other = (next(fixtures.fixtures([name])) for name in ("wrong_device_collective", "ragged_gather"))
        assert [checks.backend_of(Bench(tmp_path, gpus), of_devices) for gpus in (1, 2)] == ["gloo", "nccl"]
        assert checks.backend_of(Bench(tmp_path, 2), other) == "gloo"

    def test_every_program_can_be_compiled(self):
        programs = sorted(checks.PROGRAMS.glob("*.py"))
        for path in programs:
            compile(path.read_text(), path.name, "exec")
        assert {path.stem for path in programs} == {
            *("bound", "cpu_tensor", "gathers", "hangs", "named", "precision", "rank0_metrics", "right", "trainer"),
        }


@pytest.mark.torch
class TestWhatRunsWithoutAGpuAsWell:
    @pytest.fixture
    def bench(self, server, tmp_path):
        return Bench(tmp_path, 0, server)

    def test_metrics_of_rank_0(self, bench):
        said, holds = checks.fails(bench.judged("rank0_metrics"), "same metric")
        assert holds, said

    def test_a_right_program_in_a_precision(self, bench):
        said, holds = checks.precise(bench, "fp32")
        assert holds and "true value" in said, said

    def test_a_fixture(self, bench):
        (fixture,) = (each for each in fixtures.fixtures(["item_before_gather"]) if each.name.endswith("/broken_loop"))
        assert checks.of_broken(bench, fixture)[1]
