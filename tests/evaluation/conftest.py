"""The evaluations and the benchmarks are packages of the repository, which is not installed: put it on the path."""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)
