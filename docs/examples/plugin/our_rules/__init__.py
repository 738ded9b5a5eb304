"""What our team adds to trl-lint: a rule with its fix, and what our own library does."""
