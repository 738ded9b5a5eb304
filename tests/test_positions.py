"""Positions are those of LibCST's own provider."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from trl_lint.positions import Positions

ROOT = Path(__file__).parents[1]
FILES = [*(ROOT / "fixtures").glob("*/broken*.py"), *(ROOT / "trl_lint" / "analysis").glob("*.py")]
ODD = (
    "\ufeffif x :\r\n\tdef f ( a , * , b = 1 ) :  # c\r\n\t\treturn ( ( a )\r\n\r\n )\r\n"
    "class  C : pass ; y = '''\na\rb'''\n@ d\nasync def g(): ...\n"
)


@pytest.mark.parametrize("text", [*(path.read_text(encoding="utf-8") for path in FILES), ODD, "", "\n\n# only\n"])
def test_all_nodes_stand_where_libcst_says(text):
    tree = cst.parse_module(text.encode())
    theirs = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    ours = Positions(tree)
    assert len(ours) == len(theirs)
    assert all(ours[node] == place for node, place in theirs.items())
