"""Names that each rank determines itself, but that are usually the same: files of one folder, and the current second.

    os.listdir("out")                        local(io), provenance=SharedName
    os.listdir(f"out/{rank}")                local(io)
    datetime.now().strftime("%H-%M-%S")      local(clock), provenance=SharedName
    f"{datetime.now():%H-%M-%S}"             local(clock), provenance=SharedName
    int(time.time())                         local(clock), provenance=SharedName
    str(datetime.now()).split(".")[0]        local(clock), provenance=SharedName
    datetime.now().strftime("%H-%M-%S-%f")   local(clock)
    str(datetime.now())                      local(clock)
    datetime.now().strftime("%Y%m%d")        local(clock), provenance=SharedName(coarse=True)
    now.strftime(form)                       local(clock), provenance=NameOfOneRank(coarse=True)
    uuid.uuid4()                             local(rank), provenance=NameOfOwn

Whatever every rank does with this name affects one file, or several by chance. A coarse one is hardly ever another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.refining import Domain, FunctionCall
from trl_lint.domain.provenance import NameOfOneRank, NameOfOwn, SharedName, Step, source_step
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge import effects

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class NameDomain(Domain["Frame"]):
    def function(self, frame: Frame, call: FunctionCall, value: Value) -> Value:
        if call.name in effects.LISTINGS and call.args.rank().is_uniform:
            return value.replace(provenance=SharedName(frame.module, call.node, "each rank lists the same folder here"))
        if call.name in effects.CLOCKS_OF_SECONDS and _is_time(value):
            return _in_whole_seconds(frame, call.node, value, call.name in effects.WITHOUT_SECONDS)
        if call.name in effects.OWN_NAMES:
            return value.replace(provenance=NameOfOwn(frame.module, call.node, "`{}` differs between ranks"))
        return _stamped(frame, call.args, call.node, value) if call.name in effects.STAMPS else value

    def builtin(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        is_whole = name in effects.WHOLE_NUMBERS and _is_time(value) and _reads_time(args.expression(0))
        return _in_whole_seconds(frame, node, value) if is_whole and len(args.positional) == 1 else value

    def method(
        self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        if name == "format" and isinstance(receiver.const, str) and _is_time(value):
            is_whole = len([each for each in args.all() if each.rank.differs]) == 1 and _is_stamp(receiver.const)
            return _in_whole_seconds(frame, node, value, _is_coarse(receiver.const)) if is_whole else value
        if not _is_time(receiver):
            return value
        if name in effects.STAMPS:
            return _stamped(frame, args, node, value, receiver)
        keyword, whole = effects.WITHOUT_PARTS_OF_A_SECOND.get(name, ("", frozenset[object]()))
        argument = args.keywords.get(keyword)
        is_whole = name in effects.METHODS_OF_SECONDS or (argument is not None and argument.const in whole)
        is_coarse = name in effects.WITHOUT_SECONDS or _tells_no_seconds(argument) or _is_coarse_time(receiver)
        return _in_whole_seconds(frame, node, value, is_coarse) if is_whole else value

    def attribute(self, frame: Frame, receiver: Value, name: str, value: Value) -> Value:
        read = source_step(receiver.provenance)
        is_coarse = name in effects.WITHOUT_SECONDS
        if read is None or not (is_coarse or name in effects.FIELDS_OF_SECONDS) or not _is_time(receiver):
            return value
        return _in_whole_seconds(frame, read.node, value, is_coarse)

    def subscript(self, frame: Frame, container: Value, node: cst.Subscript, value: Value) -> Value:
        if not _is_time(value) or _is_coarse_time(container):
            return value
        read = source_step(container.provenance)
        return _in_whole_seconds(frame, node, value, _ends_before_seconds(node)) if _is_cut(node, read) else value


def _is_time(value: Value) -> bool:
    return value.rank.differs and value.rank.origins == Origin.CLOCK


def _stamped(frame: Frame, args: Arguments, node: cst.CSTNode, value: Value, time: Value | None = None) -> Value:
    form = args.get(0, "format")
    if form is None or not isinstance(form.const, str):
        return value.replace(provenance=_in_some_form(value.provenance)) if _is_time(value) else value
    is_coarse = _is_coarse(form.const) or (time is not None and _is_coarse_time(time))
    return _in_whole_seconds(frame, node, value, is_coarse) if _is_stamp(form.const) else value


def _in_some_form(read: Step | None) -> Step | None:
    """The provenance of a time in a form that is not known, which may be that of a day."""
    return None if read is None else NameOfOneRank(read.module, read.node, read.text, read.before, coarse=True)


def _is_stamp(form: str) -> bool:
    """Whether a time has no parts of a second in this form."""
    return "%" in form and not any(part in form for part in effects.PARTS_OF_A_SECOND)


def _is_coarse(form: str) -> bool:
    """Whether a time has no seconds in this form."""
    return effects.SECONDS.search(form) is None


def _is_coarse_time(value: Value) -> bool:
    read = source_step(value.provenance)
    return isinstance(read, SharedName) and read.coarse


def _tells_no_seconds(unit: Value | None) -> bool:
    return unit is not None and unit.const in effects.UNITS_WITHOUT_SECONDS


def _in_whole_seconds(frame: Frame, node: cst.CSTNode, value: Value, coarse: bool = False) -> Value:
    text = "each rank reads the time here, in whole seconds"
    return value.replace(provenance=SharedName(frame.module, node, text, coarse=coarse))


def _reads_time(node: cst.BaseExpression | None) -> bool:
    """Whether it is `time.time()` or `now.timestamp()` itself, and not a product of it, which has parts of a second."""
    return _name_of_call(node) in effects.READ_AS_NUMBER


def _name_of_call(node: cst.CSTNode | None) -> str | None:
    return last_name(node.func) if isinstance(node, cst.Call) else None


def _is_cut(node: cst.Subscript, read: Step | None) -> bool:
    """Whether it is a text of the time without the parts of a second: `text.split(".")[0]`, `str(now)[:19]`."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Integer("0")))]:
            return _name_of_call(node.value) == "split"
        case [cst.SubscriptElement(slice=cst.Slice(lower=None, upper=upper, step=None))]:
            return read is not None and _name_of_call(read.node) in effects.READ_AS_DATE and _ends_before(upper)
    return False


def _ends_before(upper: cst.BaseExpression | None) -> bool:
    match upper:
        case cst.Integer() as end:
            return end.evaluated_value <= effects.BEFORE_PARTS_OF_A_SECOND
        case cst.UnaryOperation(operator=cst.Minus(), expression=cst.Integer() as cut):
            return cut.evaluated_value >= effects.AFTER_WHOLE_SECONDS
    return False


def _ends_before_seconds(node: cst.Subscript) -> bool:
    """Whether a text of the time is cut before the seconds: `str(now)[:10]`, `str(now).split(" ")[0]`."""
    match node.slice, node.value:
        case [cst.SubscriptElement(slice=cst.Slice(upper=cst.Integer() as end))], _:
            return end.evaluated_value <= effects.BEFORE_SECONDS
        case _, cst.Call(args=[cst.Arg(value=cst.SimpleString() as text), *_]):
            return text.evaluated_value in effects.BETWEEN_DATE_AND_TIME
        case _, cst.Call(args=[]):
            return True
    return False


DOMAIN = NameDomain()
