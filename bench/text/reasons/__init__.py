"""The sentence of every kind of reason, floor by floor; a test holds the tables to the kinds that the code uses.

A place is filled by the figure of its name (see ``text/tell.py`` for how each type of figure is written).
"""

from collections.abc import Mapping

from bench.text.reasons.analysis import ANALYSIS
from bench.text.reasons.doctor import DOCTOR
from bench.text.reasons.jobs import JOBS
from bench.text.reasons.machine import MACHINE
from bench.text.reasons.measure import MEASURE
from bench.text.reasons.plans import PLANS
from bench.text.reasons.storage import STORAGE
from bench.text.reasons.verification import VERIFICATION
from bench.text.reasons.workloads import WORKLOADS

TEMPLATES: Mapping[str, str] = {
    "text": "{text}",
    **PLANS,
    **MACHINE,
    **WORKLOADS,
    **MEASURE,
    **VERIFICATION,
    **JOBS,
    **DOCTOR,
    **ANALYSIS,
    **STORAGE,
}  # kind to English, which is the key of the catalogs, too
