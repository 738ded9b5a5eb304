"""An interrupt: what is known is reported, one line goes to standard error, nothing is left running."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from commands import interrupted
from fake_runs import Runs, printed, session, well

from trl_lint.settings import Settings
from trl_lint.verify.oracles import termination
from trl_lint.verify.processes import interrupts
from trl_lint.verify.processes.interrupts import RunInterrupted
from trl_lint.verify.proof.proofs import ProofInterrupted, of_script
from trl_lint.verify.proof.session import Subject
from trl_lint.verify.rank import program
from trl_lint.verify.record.traces import RankRecord, Run
from trl_lint.verify.record.verdicts import INTERRUPTED

# Rank 0 waits for rank 1, which has left a process running in another session.
WAITS = """\
import os, subprocess, sys, time
import torch.distributed as dist
dist.init_process_group("gloo")
helper = [sys.executable, "-c", "import time; time.sleep(600)", os.getcwd()]
subprocess.Popen(helper, start_new_session=True)
open(f"at{dist.get_rank()}", "w").close()
if dist.get_rank() == 0:
    dist.barrier()
time.sleep(600)
"""


class TestSignals:
    def test_one_is_raised_where_nothing_runs(self):
        with pytest.raises(RunInterrupted) as raised, interrupts.raising():
            os.kill(os.getpid(), signal.SIGTERM)
        assert raised.value.number == signal.SIGTERM

    def test_one_is_noted_while_a_run_goes_on_and_the_second_ends_what_runs(self, monkeypatch):
        ended = []
        monkeypatch.setattr(interrupts.descendants, "kill_children", lambda: ended.append(True))
        before = signal.getsignal(signal.SIGTERM)
        with interrupts.raising():
            with interrupts.deferred():
                os.kill(os.getpid(), signal.SIGTERM)
                assert interrupts.received() == signal.SIGTERM and not ended
                os.kill(os.getpid(), signal.SIGINT)
            assert interrupts.received() == signal.SIGTERM and ended
        assert signal.getsignal(signal.SIGTERM) is before

    @pytest.mark.skipif(not hasattr(signal, "SIGRTMIN"), reason="has no real-time signals")
    def test_stacks_are_asked_for_by_a_signal_that_scripts_have_no_use_for(self):
        assert signal.SIGRTMIN < program.STACKS < signal.SIGRTMAX


class TestPartialReports:
    """An interrupt in each run of a proof: the runs before it are judged, and the interrupted one as far as it got."""

    @pytest.fixture
    def script(self, tmp_path):
        path = tmp_path / "train.py"
        path.write_text("print(1)\n")
        return Subject("train.py", str(path), tmp_path)

    def proof(self, script, folder, broken):
        runs = Runs({"as it is": [[well(0), well(1)]]})

        def start(launch, job, plain):
            if broken in Path(job.traces).name:
                ranks = [RankRecord(0, world_size=2, asked_to_stop=True), RankRecord(1, world_size=2)]
                raise RunInterrupted(signal.SIGINT, Run(ranks, stopped=INTERRUPTED))
            return runs(launch, job, plain)

        with pytest.raises(ProofInterrupted) as raised:
            of_script(script, session(folder, start), Settings(), (), one_process=True, bare=False)
        return raised.value.proof

    def test_the_first_run(self, script, tmp_path):
        proof = self.proof(script, tmp_path, "as-it-is")
        (column,) = proof.columns
        end = column.judged.verdict(termination.ORACLE)
        assert (end.summary, end.failed, len(end.evidence)) == ("the run was interrupted", False, 2)
        assert not proof.holds

    def test_a_later_run(self, script, tmp_path):
        proof = self.proof(script, tmp_path, "one-process")
        (column,) = proof.columns
        assert column.judged.verdict(termination.ORACLE).summary == "all 2 ranks ran to their end"
        assert "not judged: interrupted before" in printed("text", proof)
        assert "Interrupted: this is what was seen until then." in printed("markdown", proof)
        assert '"interrupted": true' in printed("json", proof)


@pytest.mark.torch
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_who_waits_where_is_told(tmp_path):
    code, out, said = interrupted(tmp_path, WAITS, lambda: (tmp_path / "at0").exists() and (tmp_path / "at1").exists())
    assert (code, said) == (130, "trl-lint: interrupted\n")
    assert "the run was interrupted" in out and "rank 1: in no collective of its own" in " ".join(out.split())
