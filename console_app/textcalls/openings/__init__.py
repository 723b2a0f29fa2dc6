"""The places in running text where a call may begin: marks, labels, fences and bare shapes, and what leads to them."""
