"""Connecting a model from within the console."""
