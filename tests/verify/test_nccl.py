"""The parts for nccl alone, tested without a GPU: stand-ins say what torch would."""

from __future__ import annotations

import os
import pickle
import sys
from types import SimpleNamespace

import pytest

from trl_lint.verify.processes import launcher
from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.rank import flight_recorder, nccl, shared_gpus, trace
from trl_lint.verify.rank.job import Job

JOB = Job("train.py", (), "/traces", "/")
DUMP = "/traces/rank_dump_"
NEW = SimpleNamespace(_dump_fr_trace=lambda: b"")


def torch_with(monkeypatch, native):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(_C=SimpleNamespace(_distributed_c10d=native)))


class TestWhatIsAskedFor:
    @pytest.fixture(autouse=True)
    def clean(self, monkeypatch):
        for name in [name for name in os.environ if name.startswith(("TORCH_FR_", "TORCH_NCCL_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setattr(os, "environ", dict(os.environ))

    def asked(self):
        return {name: value for name, value in os.environ.items() if name.startswith(("TORCH_FR_", "TORCH_NCCL_"))}

    @pytest.mark.parametrize(
        ("native", "buffer"), [(NEW, "TORCH_FR_BUFFER_SIZE"), (SimpleNamespace(), "TORCH_NCCL_TRACE_BUFFER_SIZE")]
    )
    def test_the_recorder_lies_beside_the_traces(self, monkeypatch, native, buffer):
        torch_with(monkeypatch, native)
        nccl.prepare(JOB, "nccl")
        assert self.asked() == {
            buffer: "2000",
            "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
            "TORCH_FR_DUMP_TEMP_FILE": DUMP,
            "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": DUMP,
        }

    def test_what_the_user_has_set_stays(self, monkeypatch):
        torch_with(monkeypatch, NEW)
        os.environ["TORCH_FR_BUFFER_SIZE"] = "10"
        nccl.prepare(JOB, None)
        assert self.asked()["TORCH_FR_BUFFER_SIZE"] == "10"

    def test_nothing_for_gloo(self):
        nccl.prepare(JOB, "gloo")
        assert not self.asked()


class TestTheEndOfACollective:
    @pytest.fixture
    def waited(self, monkeypatch):
        waited = []
        stream = SimpleNamespace(synchronize=lambda: waited.append("stream"))
        self.cuda = SimpleNamespace(
            is_initialized=lambda: True, is_current_stream_capturing=lambda: False, current_stream=lambda: stream
        )
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=self.cuda))
        return waited

    def finish(self, backend, result=None):
        nccl.finish(SimpleNamespace(get_backend=lambda group: backend), None, result)

    @pytest.mark.parametrize("backend", ["nccl", "cpu:gloo,cuda:nccl"])
    def test_it_is_over_when_the_gpu_has_done_it(self, waited, backend):
        self.finish(backend)
        assert waited == ["stream"]

    def test_gloo_has_waited_itself(self, waited):
        self.finish("gloo")
        assert waited == []

    def test_a_backward_pass_is_over_when_what_ddp_sends_around_is(self, waited, monkeypatch):
        class Tensor:
            def backward(self):
                waited.append("backward")

        nccl.patch_tensor(SimpleNamespace(Tensor=Tensor))
        c10d = SimpleNamespace(is_initialized=lambda: False, get_backend=lambda group: "nccl")
        monkeypatch.setitem(sys.modules, "torch.distributed.distributed_c10d", c10d)
        Tensor().backward()
        c10d.is_initialized = lambda: True
        Tensor().backward()
        assert waited == ["backward", "backward", "stream"]

    def test_what_is_meant_to_go_on_is_not_waited_for(self, waited):
        self.finish("nccl", SimpleNamespace(wait=None))
        assert waited == []

    def test_nothing_is_waited_for_in_a_graph_or_before_there_is_a_gpu(self, waited):
        self.cuda.is_current_stream_capturing = lambda: True
        self.finish("nccl")
        self.cuda.is_current_stream_capturing, self.cuda.is_initialized = lambda: False, lambda: False
        self.finish("nccl")
        assert waited == []


class TestTheRecorders:
    def told(self, monkeypatch, **dumps):
        torch_with(monkeypatch, SimpleNamespace(**dumps))
        told = []
        monkeypatch.setattr(trace, "current", SimpleNamespace(write=lambda kind, **fields: told.append((kind, fields))))
        flight_recorder.record(JOB)
        return told

    @staticmethod
    def dump(*names):
        entries = [{"profiling_name": name, "process_group": ("0", "default_pg")} for name in names]
        return lambda: pickle.dumps({"entries": entries})

    def test_that_of_nccl_is_another_one_than_that_of_gloo(self, monkeypatch):
        both = {"_dump_fr_trace": self.dump("gloo:barrier"), "_dump_nccl_trace": self.dump("nccl:all_reduce", "nccl:x")}
        ((kind, fields),) = self.told(monkeypatch, **both)
        assert kind == "native" and fields["total"] == 2
        assert [name for name, *_ in fields["collectives"]] == ["gloo:barrier", "nccl:all_reduce", "nccl:x"]

    def test_older_releases_have_that_of_nccl_alone(self, monkeypatch):
        ((_, fields),) = self.told(monkeypatch, _dump_nccl_trace=self.dump("nccl:all_reduce"))
        assert fields["total"] == 1

    def test_what_keeps_something_else_tells_nothing(self, monkeypatch):
        assert self.told(monkeypatch, _dump_nccl_trace=lambda: pickle.dumps([])) == []
        assert self.told(monkeypatch) == []


@pytest.mark.torch
class TestSharedGpus:
    @pytest.fixture
    def torch(self):
        """Imported here only: all workers import this module, which is to take no seconds."""
        import torch

        return torch

    @pytest.mark.parametrize(
        ("device", "gpus", "processes", "picked"),
        [
            (1, 1, 2, 0),
            ("cuda:3", 2, 4, "cuda:1"),
            (0, 1, 2, 0),
            ("cuda", 1, 2, "cuda"),
            (1, 0, 2, 1),  # no GPU at all: torch reports that
            (1, 2, 2, 1),
            (5, 1, 2, 5),  # the GPU of no process: a mistake of the script
            (1, 1, 1, 1),
        ],
    )
    def test_only_a_gpu_that_is_missing_is_another_one(self, device, gpus, processes, picked, monkeypatch):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", str(processes))
        assert shared_gpus.shared(device, gpus) == picked

    @pytest.fixture
    def one_gpu_for_two(self, torch, monkeypatch):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)

    @pytest.mark.usefixtures("one_gpu_for_two")
    def test_torch_hands_on_what_is_there(self, torch):
        utils = SimpleNamespace(_get_device_index=lambda device, optional=False: torch.device(device).index)
        shared_gpus.patch_index(utils)
        assert [utils._get_device_index(device, True) for device in ("cuda:0", "cuda:1", "cpu")] == [0, 0, None]

    @pytest.mark.parametrize(
        ("asked", "picked"),
        [
            ("cuda:1", "cuda:0"),
            (lambda torch: torch.device("cuda", 1), "cuda:0"),
            ({"cuda:0": "cuda:1"}, {"cuda:0": "cuda:0"}),
            ("cpu", "cpu"),
            (None, None),
        ],
    )
    @pytest.mark.usefixtures("one_gpu_for_two")
    def test_a_checkpoint_is_loaded_to_what_is_there(self, torch, asked, picked):
        asked = asked(torch) if callable(asked) else asked
        serialization = SimpleNamespace(load=lambda f, map_location=None, **pickle_args: (f, map_location))
        shared_gpus.patch_load(serialization)
        assert serialization.load("model.pt", asked) == ("model.pt", picked)
        assert serialization.load("model.pt", map_location=asked, weights_only=True) == ("model.pt", picked)

    @pytest.mark.parametrize(
        ("name", "args", "kwargs", "picked"),
        [
            ("to", ("rows", "cuda:1"), {}, (("rows", "cuda:0"), {})),
            ("cuda", ("rows", 1), {}, (("rows", 0), {})),
            ("cuda", ("rows", None, True), {}, (("rows", None, True), {})),
            ("zeros", (1, 1), {"device": "cuda:1"}, ((1, 1), {"device": "cuda:0"})),
            ("add", ("rows", 1), {}, (("rows", 1), {})),
        ],
    )
    @pytest.mark.usefixtures("one_gpu_for_two")
    def test_operations_run_on_what_is_there(self, name, args, kwargs, picked):
        assert shared_gpus.redirected(name, args, kwargs) == picked

    @pytest.mark.usefixtures("one_gpu_for_two")
    def test_a_device_of_torch_is_one_that_is_there(self, torch):
        moved = shared_gpus.redirected("to", ("rows", torch.device("cuda", 1), torch.float), {})
        assert moved == (("rows", "cuda:0", torch.float), {})

    def test_all_of_torch_runs_in_the_mode(self, torch, monkeypatch):
        seen = []
        monkeypatch.setattr(shared_gpus, "redirected", lambda *call: seen.append(call[0]) or call[1:])
        with shared_gpus.redirecting():
            torch.nn.Linear(2, 2).to("cpu")(torch.ones(2, 2)).sum().backward()
        assert {"ones", "to", "linear", "sum"} <= set(seen)


def test_emulated_devices_hide_real_ones(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import os\nprint(repr(os.environ.get('CUDA_VISIBLE_DEVICES')))\n")
    job = Job(str(script), (), str(tmp_path / "traces"), str(tmp_path), devices=True)
    (rank,) = launcher.run(Launch(sys.executable), job, plain=True).ranks
    assert rank.output.strip() == "''"
