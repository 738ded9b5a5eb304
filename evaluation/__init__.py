"""How accurate trl-lint is: `python -m evaluation.<name>`. How fast it is: see `bench/`."""
