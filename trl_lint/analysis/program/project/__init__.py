"""The project: its files, found by imports and parsed on demand, and the functions and classes in them."""
