"""Programs that ask for a process group that nothing in them starts: each of their processes acts as if it were alone.

For example:

    evaluate.py   if dist.is_initialized(): model = DistributedDataParallel(model)      never wrapped
                  else: model = nn.DataParallel(model)                                  wrapped, if it has several GPUs
"""

from __future__ import annotations

from trl_lint.analysis.events import Event
from trl_lint.analysis.program.project.project import Module
from trl_lint.domain.model_roles import is_replicated
from trl_lint.domain.values import Value

_OF_ONE_PROCESS = rb"\bnn\.DataParallel\("


def is_without_group(module: Module, event: Event) -> bool:
    """Whether an event is of such programs only.

    A model that is wrapped for several processes may be wrapped by DataParallel elsewhere, if any code does so.
    """
    if not module.engines().no_group:
        return False
    model = getattr(event, "model", None)
    is_wrapped = isinstance(model, Value) and is_replicated(model)
    return not (is_wrapped and module.project_mentions(_OF_ONE_PROCESS))
