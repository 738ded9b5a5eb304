"""Texts of messages and help: how to do something at a place (`places`), and which ranks diverge (`divergence`)."""

from trl_lint.wording.places import (
    Surroundings,
    model_in,
    owner_of,
    said,
    state_in,
    surroundings_of,
    uses_torch_distributed,
)

__all__ = ["Surroundings", "model_in", "owner_of", "said", "state_in", "surroundings_of", "uses_torch_distributed"]
