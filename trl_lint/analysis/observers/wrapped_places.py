"""Models that are wrapped on a GPU which all processes of a machine share.

Events of a program in which nothing gives a process a GPU of its own, such as `torch.cuda.set_device`:

    model = DDP(Net().cuda())                                WrappedOnSharedGpu(place="cuda")
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    model = DDP(net.to(device))                              WrappedOnSharedGpu(place="cuda:0")
    model = DDP(net.to(f"cuda:{local_rank}"))                none
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from trl_lint.analysis.device_events import WrappedOnSharedGpu
from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.gpus_of_models import shared_gpu
from trl_lint.analysis.program.project.import_lines import files_in_reach
from trl_lint.analysis.state.observing import Observer
from trl_lint.knowledge.backends import GIVES_OWN_GPU
from trl_lint.knowledge.torch_distributed import DDP, FSDP

if TYPE_CHECKING:
    from pathlib import Path

    import libcst as cst

    from trl_lint.analysis.program.project.project import Project
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

_WRAPPERS = frozenset({DDP, FSDP})
_GIVES_OWN_GPU = re.compile(GIVES_OWN_GPU)


class WrappedPlaces(Observer["Frame"]):
    emits = frozenset({WrappedOnSharedGpu})

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        from libcst import Call

        if name not in _WRAPPERS or not isinstance(node, Call) or is_test(frame.function):
            return
        place = shared_gpu(frame.module, frame.root, frame.function, node)
        if place and not _gives_own_gpu(frame.engine.project, frame.module.path):
            frame.emit(WrappedOnSharedGpu, node, place=place, wrapper=name.rpartition(".")[2])


def _gives_own_gpu(project: Project, path: Path) -> bool:
    """Whether a file, a linted one that reaches it by imports, or what these reach, may give each process its GPU."""
    return project.of_linted((_gives_own_gpu, path), partial(_in_programs, project, path))


def _in_programs(project: Project, path: Path) -> bool:
    reached = [files_in_reach(project, each) for each in {path, *project.linted}]
    programs = [files for files in reached if files is None or path in files]
    return any(files is None for files in programs) or any(
        _GIVES_OWN_GPU.search(project.code(each)) for each in {each for files in programs for each in files or ()}
    )


OBSERVER = WrappedPlaces()
