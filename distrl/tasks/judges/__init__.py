"""Judges: who says whether a task is done."""
