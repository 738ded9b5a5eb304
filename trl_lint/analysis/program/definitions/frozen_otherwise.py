"""Whether code freezes nothing but parts of a model by their names, and other models, as far as its text shows.

For example, for a model whose class has `self.backbone` and `self.norm`:

    for p in self.backbone.parameters(): p.requires_grad = False      not `norm`
    target = copy.deepcopy(model); target.requires_grad_(False)       another model
    vae = AutoencoderKL.from_pretrained(name); vae.requires_grad_(False)   another, as no code defines its class
    for p in model.parameters(): p.requires_grad = False              all of it
"""

from __future__ import annotations

import re
from collections.abc import Set

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.knowledge.trained_layers import FREEZES, LOADS, WHOLE_MODELS

_FREEZES = re.compile(FREEZES)
# The object, if that is a name or a dotted one, right before what is matched.
_OWNER = re.compile(rb"([A-Za-z_][\w.]*)\.?\Z")
_LOOP = rb"\bfor\b[^\n]*?\b%b\b[^\n]*?\bin\b([^\n]*)"
_OF_PARAMETERS = re.compile(rb"\s*([\w.]+)\.(?:named_)?parameters\(\)\s*:.*")
# How far before it the loop begins.
_NEAR = 400


def freezes_others_only(code: bytes, parts: Set[bytes], classes: Set[bytes]) -> bool:
    """Whether all that code freezes are parts with one of these names, copies of a model, or a library's models.

    classes: the names of those that a program defines.
    """
    return all(_is_of_other(code, each, parts, classes) for each in _FREEZES.finditer(code))


def _is_of_other(code: bytes, freezing: re.Match[bytes], parts: Set[bytes], classes: Set[bytes]) -> bool:
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
    return (bool(owners) and last in parts - WHOLE_MODELS) or _is_other_model(code, name, classes)


def _is_other_model(code: bytes, name: bytes, classes: Set[bytes]) -> bool:
    """Whether all that is assigned to a name is a copy of something, or loaded by a class that no code defines."""
    last = name.rpartition(b".")[2]
    assigned = re.findall(rb"\b%b\s*(?::[^=\n]+)?=(?!=)\s*([\w.]*)" % re.escape(last), code)
    imported = {each for _, names in import_lines(code) for each in names}
    own = {each.decode() for each in classes}
    return bool(assigned) and all(_is_copy_or_loaded(each.decode(), imported, own) for each in assigned)


def _is_copy_or_loaded(maker: str, imported: Set[str], own: Set[str]) -> bool:
    """Whether a call copies a model, or loads one by a class that is imported, and is none of the program's own."""
    cls, _, method = maker.rpartition(".")
    is_loaded = method == LOADS and cls.partition(".")[0] in imported and cls.rpartition(".")[2] not in own
    return maker.endswith("deepcopy") or is_loaded
