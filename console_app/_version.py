"""The version, alone in a file so that `fanout --version` and the build read it without importing anything else."""

__version__ = "0.1.0"
