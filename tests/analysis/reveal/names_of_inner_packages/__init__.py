"""A package whose inner package imports all names of its files, one of which imports all names of it."""
