"""Attributes that the code of a class sets by a text: which ones, it shows where each text is a constant.

self.register_buffer("steps", torch.zeros(1))      `steps`, and no other
setattr(self, name, value)                         any
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import keyword_value, last_name, names_in, of_class

# By name, the place of the argument that says which attribute is set.
_TEXT_AT = {
    **{"add_module": 0, "register_buffer": 0, "register_module": 0, "register_parameter": 0},
    **{"__setattr__": 0, "setattr": 1},
}
_SETS_ANY = "__dict__"


def may_set(cls: cst.ClassDef, name: str) -> bool:
    """Whether the code of a class may set the attribute by a text."""
    used = names_in(cls)
    if _SETS_ANY in used:
        return True
    if used.isdisjoint(_TEXT_AT):
        return False
    texts = [_text(each) for each in of_class(cls, cst.Call) if last_name(each.func) in _TEXT_AT]
    uses = sum(each.value in _TEXT_AT for each in of_class(cls, cst.Name))
    return None in texts or uses > len(texts) or name in texts


def _text(call: cst.Call) -> str | None:
    """The constant text that says which attribute a call sets; None if it is none."""
    place = _TEXT_AT[last_name(call.func)]
    text = call.args[place].value if len(call.args) > place else keyword_value(call, "name")
    return str(text.evaluated_value) if isinstance(text, cst.SimpleString) else None
