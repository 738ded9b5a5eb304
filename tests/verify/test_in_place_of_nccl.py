"""gloo in place of nccl: what it takes and refuses, without a GPU."""

from __future__ import annotations

import pytest

from trl_lint.verify.oracles import own_device, single_writer
from trl_lint.verify.rank import in_place_of_nccl
from trl_lint.verify.record.traces import End, RankRecord, Run
from trl_lint.verify.record.verdicts import Outcome


@pytest.mark.torch
def test_a_program_that_runs_on_nccl_runs_here(judged):
    found = judged("as_nccl_takes_them")
    assert found.passed, found.verdicts
    assert found.verdict(single_writer.ORACLE).outcome is not Outcome.FAILED


@pytest.mark.torch
class TestATensorOnTheCpu:
    @pytest.fixture
    def torch(self):
        """Imported by these tests only: all workers collect them, which is to take no seconds."""
        import torch

        return torch

    @pytest.fixture(autouse=True)
    def groups(self, monkeypatch):
        monkeypatch.setattr(in_place_of_nccl, "_takes_cpu", {})
        for asked in ("nccl", "gloo", "cpu:gloo,cuda:nccl", None):
            in_place_of_nccl.note(asked, asked)
        in_place_of_nccl.note_subgroup("below nccl", "nccl")
        in_place_of_nccl.note_subgroup("below gloo", "gloo")

    @pytest.mark.parametrize("group", ["nccl", "below nccl"])
    @pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
    def test_it_is_refused_where_there_is_a_gpu(self, group, several, torch, monkeypatch):
        tensors = [torch.ones(1)] if several else torch.ones(1)
        in_place_of_nccl.refuse(group, tensors)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        with pytest.raises(RuntimeError, match="No backend type associated with device type cpu"):
            in_place_of_nccl.refuse(group, tensors)

    @pytest.mark.parametrize("group", ["gloo", "below gloo", "cpu:gloo,cuda:nccl", None, "unknown"])
    def test_a_group_that_has_gloo_takes_it(self, group, torch, monkeypatch):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        in_place_of_nccl.refuse(group, torch.ones(1))

    def test_objects_and_tensors_elsewhere_are_not_refused(self, torch, monkeypatch):
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        in_place_of_nccl.refuse("nccl", None)
        in_place_of_nccl.refuse("nccl", torch.ones(1, device="meta"))


@pytest.mark.parametrize(("gpus", "is_needed"), [((1, 1), False), ((2, 2), False), ((0, 0), True), ((None, 1), True)])
def test_devices_are_emulated_only_where_there_is_no_gpu(gpus, is_needed):
    ranks = [RankRecord(number, gpus=each, is_placed=True, end=End(0, 0)) for number, each in enumerate(gpus)]
    assert (own_device.reason_not_needed(Run(ranks)) == "") is is_needed
