"""Whether code freezes nothing but parts of a model by their names, and copies of models, as far as its text shows.

For example, for a model whose class has `self.backbone` and `self.norm`:

    for p in self.backbone.parameters(): p.requires_grad = False      not `norm`
    target = copy.deepcopy(model); target.requires_grad_(False)       another model
    for p in model.parameters(): p.requires_grad = False              all of it
"""

from __future__ import annotations

import re
from collections.abc import Set

from trl_lint.knowledge.trained_layers import FREEZES, WHOLE_MODELS

_FREEZES = re.compile(FREEZES)
# The object, if that is a name or a dotted one, right before what is matched.
_OWNER = re.compile(rb"([A-Za-z_][\w.]*)\.?\Z")
_LOOP = rb"\bfor\b[^\n]*?\b%b\b[^\n]*?\bin\b([^\n]*)"
_OF_PARAMETERS = re.compile(rb"\s*([\w.]+)\.(?:named_)?parameters\(\)\s*:.*")
# How far before it the loop begins.
_NEAR = 400


def freezes_others_only(code: bytes, parts: Set[bytes]) -> bool:
    """Whether all that code freezes are parts with one of these names, or copies of a model."""
    return all(_is_of_other(code, each, parts) for each in _FREEZES.finditer(code))


def _is_of_other(code: bytes, freezing: re.Match[bytes], parts: Set[bytes]) -> bool:
    before = code[max(0, freezing.start() - _NEAR) : freezing.start()]
    called = freezing[0].rstrip(b"(")
    if b"." not in called and re.search(rb"\bdef %b\(" % re.escape(called), code):
        return True  # what it freezes is judged there
    owner = _OWNER.search(before)
    if owner is None:
        return False
    name = owner[1].rstrip(b".")
    loops = re.findall(_LOOP % re.escape(name), before) if b"." not in name else ()
    if loops:
        listed = _OF_PARAMETERS.fullmatch(loops[-1])
        name = listed[1] if listed is not None else b""
    owners, _, last = name.rpartition(b".")
    return (bool(owners) and last in parts - WHOLE_MODELS) or _is_copy(code, last)


def _is_copy(code: bytes, name: bytes) -> bool:
    """Whether all that is assigned to a name is a copy of something."""
    assigned = re.findall(rb"\b%b\s*(?::[^=\n]+)?=(?!=)\s*([\w.]*)" % re.escape(name), code)
    return bool(assigned) and all(each.endswith(b"deepcopy") for each in assigned)
