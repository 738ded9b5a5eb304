"""One LibCST command per fixable rule. Each rewrites what its rule found and detects nothing itself."""
