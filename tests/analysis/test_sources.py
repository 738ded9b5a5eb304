"""The start of a chain, also if there is none: a value may differ without a known source."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trl_lint.analysis.transfer.processes.shared_places import is_shared
from trl_lint.domain.kinds import StringValue
from trl_lint.domain.provenance import source_step
from trl_lint.domain.ranks import Origin, Rank, State


def test_the_first_of_a_chain():
    first = SimpleNamespace(before=None)
    assert source_step(SimpleNamespace(before=SimpleNamespace(before=first))) is first
    assert source_step(first) is first
    assert source_step(None) is None


@pytest.mark.parametrize("origin", [Origin.IO, Origin.CLOCK])
def test_a_path_that_differs_for_no_known_reason_is_no_shared_one(origin):
    assert not is_shared(StringValue(Rank(State.LOCAL, origin)))
