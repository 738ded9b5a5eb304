"""How the linted code is run: under which engines, with how many processes, by which programs."""
