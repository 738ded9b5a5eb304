"""Models that are wrapped on a GPU which all processes of a machine share.

Events of a program in which nothing gives a process a GPU of its own, such as `torch.cuda.set_device`:

    model = DDP(Net().cuda())                                WrappedOnSharedGpu(place="cuda")
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    model = DDP(net.to(device))                              WrappedOnSharedGpu(place="cuda:0")
    model = DDP(net.to(f"cuda:{local_rank}"))                none

And of one that does, `torch.cuda.set_device(local_rank)`:

    model = DDP(Net().to("cuda:0"))                          WrappedOnSharedGpu(place="cuda:0", beside_own=True)
    model = DDP(Net().cuda(), device_ids=[0])                the same
    model = DDP(Net().cuda())                                none
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trl_lint.analysis.device_events import WrappedOnSharedGpu
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.gpus_of_models import shared_gpu
from trl_lint.analysis.program.project.import_lines import codes_of_programs
from trl_lint.analysis.state.observing import Observer
from trl_lint.knowledge.backends import CHOOSES_OWN_GPU, GIVES_OWN_GPU, SEES_OWN_GPU
from trl_lint.knowledge.torch_distributed import DDP, FSDP

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

_WRAPPERS = frozenset({DDP, FSDP})
_GIVES_OWN_GPU = re.compile(GIVES_OWN_GPU)
_CHOOSES_OWN_GPU = re.compile(CHOOSES_OWN_GPU)
_SEES_OWN_GPU = re.compile(SEES_OWN_GPU)


class WrappedPlaces(Observer["Frame"]):
    emits = frozenset({WrappedOnSharedGpu})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        from libcst import Call

        if name not in _WRAPPERS or not isinstance(node, Call) or is_test(frame.function):
            return
        place = shared_gpu(frame.module, frame.root, frame.function, node)
        found = codes_of_programs(frame.engine.project, frame.module.path) if place else None
        if found is None:
            return
        codes = found.values()
        chooses = any(map(_CHOOSES_OWN_GPU.search, codes)) and not any(map(_SEES_OWN_GPU.search, codes))
        beside_own = chooses and ":" in place
        if beside_own or not any(map(_GIVES_OWN_GPU.search, codes)):
            wrapper = name.rpartition(".")[2]
            frame.emit(WrappedOnSharedGpu, node, place=place, wrapper=wrapper, beside_own=beside_own)


OBSERVER = WrappedPlaces()
