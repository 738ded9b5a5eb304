"""The language server, `trl-lint server`: lints the text in an editor while it is typed, before it is saved."""
