"""Which files a run looks at, in which order, and how a fixed one is written back."""
