"""The ways to run the linter: the command line, the flake8 plugin, and the language server."""
