"""What was typed wrongly, and the codes a command ends with."""

OK, FAILED, USAGE = 0, 1, 2  # exit codes


class UsageError(Exception):
    """One sentence that says what to do; a terminal speaks English."""
