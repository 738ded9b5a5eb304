"""What rewrites share: plans that rules make of facts, and functions on nodes. No codemod is imported."""
