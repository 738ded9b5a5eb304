"""The processes of a job: groups, settings that start them, and code that one rank runs first."""
