"""One module per kind of file: the commands in it, imported when the first such file is there."""
