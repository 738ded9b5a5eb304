"""The comments that silence findings: their syntax, and which findings they apply to."""
