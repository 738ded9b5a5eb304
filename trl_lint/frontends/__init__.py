"""How the linter is called: the command line and the flake8 plugin."""
