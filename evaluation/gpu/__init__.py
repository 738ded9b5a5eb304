"""Checks of the harness on a machine with GPUs, which the tests of this repository do not have."""
