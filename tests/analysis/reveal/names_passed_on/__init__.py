"""A plain file imports all names of another, and passes them on to the file that imports all of its names."""
