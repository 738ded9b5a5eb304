"""Commands as they were written, with the place of each word in its file."""
