"""The records that the ranks of a run have left behind, and the verdicts on them."""
