"""A rank-aware abstract interpreter: what programs do on each process, told to the rules as events."""
