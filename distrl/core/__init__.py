"""The nouns, the interfaces, and what every other folder stands on: errors, configuration, clock, seeds."""
