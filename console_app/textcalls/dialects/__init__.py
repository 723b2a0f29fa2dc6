"""The table of dialects: a row says which grammar reads calls and how they are written; a coat is no row."""
