"""Tasks: what is asked of a phone, how it is set up, and how one knows that it is done."""
