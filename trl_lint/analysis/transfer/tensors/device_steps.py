"""The step that explains the device of a tensor: where it was put there.

The device of `x`:

    x = x.cpu()                           Device("cpu", provenance=Step("it is put on the CPU here"))
    x = x.to(f"cuda:{rank}")              Device("cuda:…", provenance=Step("it is moved to `cuda:…` here"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.domain.devices import HOST, Device
from trl_lint.domain.values import Value

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.frame import Frame


def located(frame: Frame, value: Value, node: cst.CSTNode) -> Value:
    """The value, with `node` as the explanation of its device."""
    place = value.device
    if not place or place == HOST or getattr(place, "provenance", None) is not None:
        return value
    text = "it is put on the CPU here" if place.startswith("cpu") else f"it is moved to `{place}` here"
    return value.replace(device=Device(place, frame.step(node, text)))
