"""A conversation and a batch as pages."""
