"""OpenMMLab's helpers give the rank and the number of processes in one tuple."""

from mmcv.runner import get_dist_info
from mmcv.runner.dist_utils import get_dist_info as of_its_file
from mmengine.dist import get_dist_info as of_mmengine

rank, world_size = get_dist_info()
reveal_rank(rank)  # revealed: local(rank)
reveal_rank(world_size)  # revealed: same
reveal_rank(of_its_file()[0])  # revealed: local(rank)
reveal_rank(of_mmengine()[1])  # revealed: same
if world_size > 1:
    reveal_rank(rank == 0)  # revealed: local(rank)
else:
    reveal_rank(rank)  # revealed: never
