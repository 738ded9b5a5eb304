"""The language server, `trl-lint server`: the linter as an editor sees it, over what is typed and not saved yet."""
