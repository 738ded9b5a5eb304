"""Methods and functions that fail for None, which some ranks pass to them as they lack the value.

For example, with a value that only the first rank has:

    rows.extend(chosen)              a list: the other ranks fail here
    net.load_state_dict(weights)     a network: likewise
    os.path.join(folder, "log")      likewise, as `open(folder)` does
    replay.extend(chosen)            a method of the project, or of an unknown object: it may take None
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import present_on_some
from trl_lint.analysis.program.definitions.objects import class_of
from trl_lint.analysis.program.project.classes import is_module_class
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import ModelValue, library_name_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.python import REFUSE_NONE

_OF_LISTS = frozenset({"extend"})
# torch/nn/modules/module.py: `load_state_dict` raises a TypeError for what is no mapping.
_OF_NETWORKS = frozenset({"load_state_dict"})
_LAYERS = "torch.nn."
_LISTS = frozenset({Kind.CONTAINER, Kind.NUMBER_LIST})


def note(frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.Call) -> None:
    """Note a use of the first argument that fails for None; after it, no rank lacks the value."""
    if not args.positional or args.positional[0].absence is None:
        return
    fails = receiver.kind in _LISTS if name in _OF_LISTS else name in _OF_NETWORKS and _is_network(receiver, name)
    if fails:
        args.positional[0] = present_on_some.used(frame, args.expression(0) or node, args.positional[0])


def note_path(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """The same for a function of paths: `os.makedirs(folder)`."""
    if name in REFUSE_NONE and args.positional and args.positional[0].absence is not None:
        args.positional[0] = present_on_some.used(frame, args.expression(0) or node, args.positional[0])


def _is_network(receiver: Value, name: str) -> bool:
    cls = class_of(receiver)
    if cls is None:
        return isinstance(receiver, ModelValue) or library_name_of(receiver).startswith(_LAYERS)
    return is_module_class(cls) and cls.find(name) is None
