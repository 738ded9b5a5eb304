"""Results that are kept on the disk between runs, and how it is known that they still hold."""
