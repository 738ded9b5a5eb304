"""What a program does for old releases of its libraries is not reached; a comparison that is not plain is open."""

import sys
from distutils.version import LooseVersion

import torch
import torch.distributed as dist
from packaging import version

if LooseVersion(torch.__version__) >= LooseVersion("1.1.0"):
    reveal_rank(dist.get_rank())  # revealed: local(rank)
else:
    reveal_rank(dist.get_rank())  # revealed: never
if version.parse(torch.__version__) < version.parse("1.6"):
    reveal_rank(dist.get_rank())  # revealed: never
if torch.__version__ < "1.6":
    reveal_rank(dist.get_rank())  # revealed: never
if float(torch.__version__[:3]) < 1.6:
    reveal_rank(dist.get_rank())  # revealed: never
if int(torch.__version__.split(".")[0]) >= 2:
    reveal_rank(dist.get_rank())  # revealed: local(rank)
else:
    reveal_rank(dist.get_rank())  # revealed: never
if tuple(map(int, torch.__version__.split("+")[0].split(".")[:2])) < (1, 6):
    reveal_rank(dist.get_rank())  # revealed: never
if sys.version_info < (3, 8):
    reveal_rank(dist.get_rank())  # revealed: never
# Open: the second number, another release, another object's, and a release that is not written out.
if int(torch.__version__.split(".")[1]) < 6:
    reveal_rank(dist.get_rank())  # revealed: local(rank)
if torch.__version__ == "1.6":
    reveal_rank(dist.get_rank())  # revealed: local(rank)
if settings.__version__ < "1.6":
    reveal_rank(dist.get_rank())  # revealed: local(rank)
if version.parse(torch.__version__) < version.parse(settings.oldest):
    reveal_rank(dist.get_rank())  # revealed: local(rank)
