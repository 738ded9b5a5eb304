"""The runs that prove a finding and its fix: unchanged, repeated, on one process, and fixed."""
