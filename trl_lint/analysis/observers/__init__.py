"""What is watched while the interpreter walks: who waits for whom, what is written, trained, prepared, moved."""
