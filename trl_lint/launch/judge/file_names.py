"""What the name of a file says about the machine that it is for.

For example:

    train_single_gpu.sh, finetune_1gpu.py    one GPU
    single_or_multi_gpu.sh                   nothing
"""

from __future__ import annotations

import re
from pathlib import Path

from trl_lint.knowledge.heuristics import ONE_GPU_NOTE, SEVERAL_GPUS_NOTE


def is_for_one_gpu(path: Path) -> bool:
    name = re.sub(r"[_.-]+", " ", path.stem)
    return ONE_GPU_NOTE.fits(name) and not SEVERAL_GPUS_NOTE.fits(name)
