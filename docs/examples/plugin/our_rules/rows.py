"""What functions of our own library do, in the words of `trl_lint/knowledge/schema.py`."""

from trl_lint.knowledge.schema import Collective

ROWS = (
    # `ourlib.dist.agree(flag)` gives the flag of rank 0 to all ranks.
    Collective(name="ourlib.dist.agree", source="ourlib/dist.py", operand=(0, "flag"), result="broadcast", fails=""),
)
