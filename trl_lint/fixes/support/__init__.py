"""What several fixes share: edits, scopes, imports, blocks, and reductions used by two fixes of one place."""
