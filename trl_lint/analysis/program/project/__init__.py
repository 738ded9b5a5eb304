"""The project: its files, found by imports and parsed when somebody asks, and the functions and classes in them."""
