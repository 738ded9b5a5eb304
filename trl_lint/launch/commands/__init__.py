"""Commands as written, with the position of each word in its file."""
