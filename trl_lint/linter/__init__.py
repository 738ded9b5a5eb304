"""Lint and fix files: discovery, analysis, location, suppression, caching, and rewriting."""
