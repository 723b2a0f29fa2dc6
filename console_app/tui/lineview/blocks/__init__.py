"""Blocks of a conversation: what you and the model said, notices, folds, and where each stands."""
