"""Methods that a library calls only on request, compared with the sources of its releases."""

from __future__ import annotations

import pytest
import sources
from test_rows import CHOSEN

from evaluation import releases
from trl_lint.knowledge.uncalled_methods import ONLY_ASKED_FOR


@pytest.mark.index
@pytest.mark.parametrize("version", CHOSEN["transformers"].split())
@pytest.mark.parametrize("name", ONLY_ASKED_FOR)
def test_no_other_method_calls_it(name, version):
    try:
        source = sources.library("transformers", version)
    except releases.IndexUnreachable as problem:
        pytest.skip(str(problem))
    asking = ONLY_ASKED_FOR[name]
    found = {
        method
        for dotted in asking.classes
        for cls in source.family(dotted.rpartition(".")[2])
        for method, signature in cls.methods.items()
        if name in signature.names
    }
    assert found == {asking.by}
