"""How fast trl-lint is: `python -m bench.<name>`. How accurate it is: see `evaluation/`."""
