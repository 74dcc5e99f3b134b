"""What follows from a run: fits, verdicts, caveats and comparisons, as values; nothing here is a sentence."""
