"""A batch on many processes: who runs which item, what travels, and how what may change something isn't done twice."""
