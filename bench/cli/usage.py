"""What was typed wrongly, and the codes that a command ends with."""

OK, FAILED, USAGE = 0, 1, 2  # exit codes


class UsageError(Exception):
    """What can't be done as it was typed: one sentence that says what to do. A terminal speaks English."""
