"""The ports to the outside: a model's provider, a set of tools, a store for sessions. A page each."""
