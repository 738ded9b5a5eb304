"""How the linted code is run: under which engines, on how many processes, by which programs."""
