"""Turn planned fixes into new text: edits, changed lines, and the check of the result."""
