"""Verdicts, caveats, comparisons."""

ANALYSIS = {}
