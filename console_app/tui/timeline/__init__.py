"""A turn as a Gantt chart: which call waited, was queued and ran when, as rows on one time axis."""
