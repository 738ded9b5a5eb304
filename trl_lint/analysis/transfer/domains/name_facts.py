"""Names that each rank determines itself, but that are usually the same: files of one folder, and the current second.

    os.listdir("out")                        local(io), provenance=SharedName
    os.listdir(f"out/{rank}")                local(io)
    datetime.now().strftime("%H-%M-%S")      local(clock), provenance=SharedName
    datetime.now().strftime("%H-%M-%S-%f")   local(clock)

Whatever every rank does with this name affects one file, or several by chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain, FunctionCall
from trl_lint.domain.provenance import SharedName
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge.effects import LISTINGS, PARTS_OF_A_SECOND, STAMPS

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class NameDomain(Domain["Frame"]):
    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        if call.name in LISTINGS and call.args.rank().is_uniform:
            return value.replace(provenance=SharedName(frame.module, call.node, "each rank lists the same folder here"))
        return _stamped(frame, call.args, call.node, value) if call.name in STAMPS else value

    def method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        is_stamp = name in STAMPS and receiver.rank.origins == Origin.CLOCK
        return _stamped(frame, args, node, value) if is_stamp else value


def _stamped(frame: Frame, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    form = args.get(0, "format")
    if form is None or not isinstance(form.const, str) or any(part in form.const for part in PARTS_OF_A_SECOND):
        return value
    return value.replace(provenance=SharedName(frame.module, node, "each rank reads the time here, in whole seconds"))


DOMAIN = NameDomain()
