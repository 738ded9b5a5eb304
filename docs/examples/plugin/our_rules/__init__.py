"""What our team adds to trl-lint: a rule with its fix, an output format, and what our own library does."""
