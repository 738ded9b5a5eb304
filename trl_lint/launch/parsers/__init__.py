"""One module per kind of file, with the commands in it; imported for the first such file."""
