"""Why a case is not converged, what checks found, and what a job is at."""

MEASURE = {}
