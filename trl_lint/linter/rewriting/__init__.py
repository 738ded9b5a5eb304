"""From planned fixes to new text: edits, the lines that change, and the check of what comes of them."""
