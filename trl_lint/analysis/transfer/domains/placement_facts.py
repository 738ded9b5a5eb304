"""Where the layers of a model are: spread over all GPUs that a process sees, or not.

    AutoModel.from_pretrained(name, device_map="auto")    a model in the role SPREAD, with this as its provenance
    device_map="auto" if torch.cuda.is_available() else None     the same
    AutoModel.from_pretrained(name, device_map={"": 0})   a model
    AutoModel.from_pretrained(name)                       a model

Accelerate refuses to wrap a model in this role for several processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain
from trl_lint.analysis.transfer.processes.job_flags import text_on_gpus
from trl_lint.domain.kinds import ModelRole, ModelValue
from trl_lint.domain.model_roles import in_model_role
from trl_lint.knowledge import library
from trl_lint.knowledge.backends import SPREADING

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class PlacementDomain(Domain["Frame"]):
    def library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
        given = args.keywords.get("device_map")
        if given is None:
            return None
        on_gpus = text_on_gpus(frame, args.expression("device_map"))
        place = given.const if isinstance(given.const, str) else on_gpus
        if place not in SPREADING:
            return None
        model = library.maker(name)
        if not isinstance(model, ModelValue):
            return None
        step = frame.step(node, f'`device_map="{place}"` spreads the model over all GPUs here')
        return in_model_role(model, ModelRole.SPREAD).replace(provenance=step)


DOMAIN = PlacementDomain()
