"""What is averaged in an entry of a dict that the caller of a function chooses: what holds for some does not for all.

    def gathered(self, key):
        return self.gather(self.fields[key])         a mean if each entry is one; else it is not known to be one

Calls of a function beyond a limit are analysed as one, with a key that may be any.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, holder_name, loop_targets
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.averaging import NOTHING, only_terms
from trl_lint.domain.constants import MISSING
from trl_lint.domain.kinds import ContainerValue
from trl_lint.domain.values import Value


def of_entry(frame: Frame, container: ContainerValue, node: cst.Subscript, entry: Value) -> Value:
    """An entry of a container, without what holds for some of those that the caller may have chosen."""
    if entry.averaging is None or not _is_chosen_by_caller(frame, node):
        return entry
    facts = [each.averaging or NOTHING for cell in frame.memory.cells(container) for each in cell.values()]
    is_alike = len({(bool(each.means), each.selected) for each in facts}) == 1
    return entry if is_alike else entry.replace(averaging=only_terms(entry.averaging))


def _is_chosen_by_caller(frame: Frame, node: cst.Subscript) -> bool:
    """Whether the key is a parameter of this function whose value is not known."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Name(name) as key))] if frame.function is not None:
            value, root = frame.known_value(key), frame.root
            is_known = value is not None and value.const is not MISSING
            is_set = name in loop_targets(root) or any(holder_name(target) == name for target, _ in assignments(root))
            return not is_known and not is_set and any(each.name == name for each in frame.function.parameters)
    return False
