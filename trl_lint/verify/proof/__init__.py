"""What is run to prove a finding and its fix: as it is, again, on one process, and fixed."""
