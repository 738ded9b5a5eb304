"""How right it is: `python -m evaluation.<name>`. How fast it is stands in `bench/`."""
