"""The verbs of the `distrl` command, one per file."""
