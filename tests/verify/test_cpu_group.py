"""Processes on the CPU form a group, whatever the release of accelerate: stand-ins say what its releases do."""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace

import pytest

from trl_lint.verify.rank import cpu_group


class Kind(Enum):
    NO = "NO"
    MULTI_CPU = "MULTI_CPU"
    MULTI_GPU = "MULTI_GPU"


def state_of(kind_without_cpu, backend=None):
    """accelerate's module, on a machine where a script that does not ask for the CPU gets a kind of its own."""

    class PartialState:
        def __init__(self, cpu=False, **kwargs):
            self.asked = kwargs

        def _prepare_backend(self, cpu=False, sagemaker_dp=False, backend=None):
            if cpu:
                return "gloo", Kind.MULTI_CPU
            return backend, kind_without_cpu

    cuda = SimpleNamespace(is_available=lambda: kind_without_cpu is Kind.MULTI_GPU)
    module = SimpleNamespace(DistributedType=Kind, PartialState=PartialState, torch=SimpleNamespace(cuda=cuda))
    cpu_group.patch_state(module)
    return PartialState(backend=backend)


@pytest.mark.parametrize(
    ("kind", "processes", "expected"),
    [
        (Kind.NO, 2, ("gloo", Kind.MULTI_CPU)),
        (Kind.NO, 1, (None, Kind.NO)),
        (Kind.MULTI_GPU, 2, (None, Kind.MULTI_GPU)),
        (Kind.MULTI_CPU, 2, (None, Kind.MULTI_CPU)),
    ],
)
def test_only_launched_processes_without_a_group_get_one(kind, processes, expected, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    assert state_of(kind)._prepare_backend(False, False, None) == expected
    assert state_of(kind)._prepare_backend(cpu=False) == expected


def test_a_script_that_asks_for_the_cpu_gets_what_it_asks_for(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert state_of(Kind.NO)._prepare_backend(True) == ("gloo", Kind.MULTI_CPU)


@pytest.mark.parametrize(
    ("kind", "asked", "gets"),
    [
        (Kind.NO, "nccl", None),
        (Kind.MULTI_CPU, "nccl", None),
        (Kind.MULTI_GPU, "nccl", "nccl"),
        (Kind.NO, "mpi", "mpi"),
    ],
)
def test_nccl_is_not_asked_for_without_a_gpu(kind, asked, gets):
    """accelerate would refuse it before a group is started."""
    assert state_of(kind, asked).asked == {"backend": gets}
