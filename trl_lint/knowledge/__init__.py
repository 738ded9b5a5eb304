"""What is known of libraries, as rows: each with the releases it holds for and the place it was read from."""
