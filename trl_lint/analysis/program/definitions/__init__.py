"""What the project defines, as values of the analysis, and what its definitions say of who calls them."""
