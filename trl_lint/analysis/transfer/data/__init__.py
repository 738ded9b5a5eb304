"""Data sets and random draws: which ranks have which data, and in which order."""
