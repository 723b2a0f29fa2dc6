"""The servers screen's parts: what it asks of the hub, the tree of switches, and how its rows are painted."""
