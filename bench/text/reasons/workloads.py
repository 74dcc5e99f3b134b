"""Images, and fetching them."""

WORKLOADS = {}
