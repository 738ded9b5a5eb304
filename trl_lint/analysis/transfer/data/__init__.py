"""Data sets and random draws: which ranks have which data, in which order."""
