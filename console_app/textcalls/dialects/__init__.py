"""The table of dialects: a row says how calls are marked, which grammar reads them and how they are written."""
