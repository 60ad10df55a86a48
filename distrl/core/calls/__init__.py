"""Calls to models behind HTTP, for judges and for policies: limits, retries, deadlines, costs. Needs httpx."""
