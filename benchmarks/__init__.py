"""Benchmarks of the whole program on this machine: `make bench`."""
