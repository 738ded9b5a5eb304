"""The state at one point of a run: names, the heap, containers, the arguments of a call."""
