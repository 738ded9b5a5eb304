"""Which files a run lints, in which order, and how a fixed file is written back."""
