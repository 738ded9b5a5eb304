"""trl-lint: find, rewrite and prove the bugs that only show up on more than one GPU."""

__version__ = "0.1.0"
