"""What several fixes need: edits, scopes, imports, blocks, what is shared between two fixes of one place."""
