"""What the project defines, as values of the analysis, and what its definitions show about their callers."""
