"""From files to findings and back: what is looked at, what is found and where, silenced, kept and mended."""
