"""The console in a browser: each page has a console of its own on a pseudo-terminal, guarded as in any terminal."""
