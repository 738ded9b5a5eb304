"""What the training environment contains, according to its own interpreter, which may not be trl-lint's."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

_MISSING = "import sys\nfrom importlib.util import find_spec\nprint(*[n for n in sys.argv[1:] if not find_spec(n)])"
_HAS_MODULE = """
import sys
from importlib.util import find_spec
try:
    print(find_spec(sys.argv[1]) and "yes" or "")
except ModuleNotFoundError:
    pass
"""


class Unusable(Exception):
    """Nothing can be verified. Its text is one line for the user."""


def missing(python: str, packages: Sequence[str]) -> list[str]:
    """The packages of these that are not installed.

    Raises:
        Unusable: the interpreter can't be run.
    """
    return _output_of(python, _MISSING, *packages).split()


def has_module(python: str, name: str) -> bool:
    """Whether a module can be found.

    Raises:
        Unusable: the interpreter can't be run.
    """
    return bool(_output_of(python, _HAS_MODULE, name).strip())


def gpus(python: str) -> int:
    """The number of GPUs that torch sees. It takes seconds to ask torch, which is not asked if all GPUs are hidden.

    Raises:
        Unusable: the interpreter can't be run.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES") == "" and "HIP_VISIBLE_DEVICES" not in os.environ:
        return 0
    return int(_output_of(python, "import torch\nprint(torch.cuda.device_count())"))


def _output_of(python: str, program: str, *args: str) -> str:
    try:
        return subprocess.run([python, "-c", program, *args], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise Unusable(f"{python} can't be run: {getattr(error, 'strerror', None) or 'it is no Python'}") from None
