"""What can't be planned."""

PLANS = {}
