"""Broken programs under `trl-lint verify` and under what else there is to find out why several processes fail."""
