"""Tests for the release of a library, where the release in use is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from reveals import NEVER, fact

RELEASES = {"transformers": "4.30.0", "pytorch_lightning": "1"}
REACHED = "local(rank)"


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ('transformers.__version__ >= "4.30"', REACHED),
        ('transformers.__version__ > "4.30"', NEVER),
        ('transformers.__version__ <= "4.30"', REACHED),
        ('transformers.__version__ < "4.30"', NEVER),
        ('version.parse(transformers.__version__) >= version.parse("4.31")', NEVER),
        ("transformers.__version__ >= OLDEST", REACHED),
        # Only the first number is known.
        ('pytorch_lightning.__version__ >= "1.6"', REACHED),
        ('pytorch_lightning.__version__ < "1.6"', REACHED),
    ],
)
def test_comparisons_with_the_release_in_use(test: str, found: str, tmp_path: Path) -> None:
    text = f"""import pytorch_lightning
import transformers
import torch.distributed as dist
from packaging import version

if {test}:
    reveal_rank(dist.get_rank())
"""
    assert fact(text, tmp_path, RELEASES) == found
