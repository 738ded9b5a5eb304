"""What the ranks of a run have left behind, and what is said of it."""
