"""Containers on objects that a function leaves as they are, such as one that it returns.

For example, with `store.values()` for `return self.train if training else self.rest`:

    store.values().append(loss)         a run of `values` before this has returned an empty list
    log(mean(store.values()))           the list as it is now, and not as it was in that run
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.object_access import load_attribute
from trl_lint.domain import ranks
from trl_lint.domain.kinds import ContainerValue, Identity


def loaded(frame: Frame, final: Iterable[Identity], changed: Collection[Identity]) -> frozenset[Identity]:
    """Load the containers of objects that a call leaves as they are, and return them.

    final: the containers that its run knows. changed: those that it was passed, or has written to.
    """
    owners = frame.objects.class_cells
    found = [each for each in final if each in owners and each not in changed]
    for each in found:
        load_attribute(frame.memory, owners[each], ContainerValue(ranks.SAME, frozenset((each,))))
    return frozenset(each for each in found if each in frame.memory.heap)
