"""The comments that silence findings: how they are written, and which findings they mean."""
