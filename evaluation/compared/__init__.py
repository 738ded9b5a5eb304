"""Broken programs under `trl-lint verify` and under other tools that explain why several processes fail."""
