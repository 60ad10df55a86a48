"""`autoui`: the policy of the paper: T5 with a gate for features of the screen, and critics on features of RoBERTa."""
