"""Conditions: how they divide the ranks, what they say of names, and the tests whose meaning is known."""
