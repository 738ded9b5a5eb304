"""The facts themselves and how they join; nothing here knows of any program."""
