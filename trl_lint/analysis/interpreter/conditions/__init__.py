"""Conditions: how they divide the ranks, how they narrow names, and the tests with a known meaning."""
