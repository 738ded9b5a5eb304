"""How fast it is: `python -m bench.<name>`. What it finds is measured in `evaluation/`."""
