"""Files and the store of runs."""

STORAGE = {}
