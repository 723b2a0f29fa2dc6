"""The grammars that read what stands between the marks of a call, and the drafts that they fill."""
