"""Replay: finished trajectories in, some of them back, the likelier the more there is to learn from them."""
