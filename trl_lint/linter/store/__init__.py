"""Results stored on disk between runs, and how to decide whether they are still valid."""
