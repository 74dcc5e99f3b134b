"""How far off an honest answer may be: what the format's rounding makes of it, and no more.

Errors are relative to the sum of the magnitudes of what is added up. Adding k numbers of one sign one after the other,
in a format of unit roundoff u, is off by about 0.3 √k u (standard deviation; any other order is off by less). The
limit of an element is ten of those, and two roundings of the result: see N. Higham and T. Mary, A New Approach to
Probabilistic Rounding Error Analysis, SIAM J. Sci. Comput. 41, 2019, theorem 2.4. The numbers below were measured
over ten thousand honest answers by ``tests/performance/verification.py``: none was beyond half of its limit, but for
some sums (up to 0.9), and what these cast suspicion on is computed element by element before it is called wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bench.records.formats import computed
from bench.workloads.contract import Rounding

ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}  # unit roundoff
SMALLEST = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}  # normal number
LARGEST = {"float64": 1.797e308, "float32": 3.402e38, "float16": 65504.0, "bfloat16": 3.389e38}
TF32 = 2.0**-11  # unit roundoff of the factors
SUMMED = 0.3  # standard deviation of a sum of k terms, in √k u
ELEMENT, POPULATION = 10.0, 3.0  # of those for one element, and for the root of the mean square of all
FEW = {"elementwise": 1.0, "softmax": 8.0, "layernorm": 8.0, "attention": 16.0, "sums": 0.0, "none": 0.0}  # further u
BELL = 5.0  # standard deviations of sums with random signs, where a single element has one size
SUMS = 1.0  # further roundings of the result, of the largest of very many sums
REDUCED_BIAS = 8e-4  # a common factor that truncating to TF32 explains; 1 ± 1e-3 is none


@dataclass(frozen=True, slots=True)
class Limits:
    """All relative. What is beyond ``element``, ``spread`` or ``bias`` is no rounding of the format."""

    element: float  # of the largest error
    spread: float  # of the root of the errors' mean square
    bias: float  # of a factor that all elements have in common
    median: float  # of what is no few faults among right elements, but in all of them
    reduced: float  # the largest error that a shorter format of the same hardware explains
    reduced_bias: float  # a common factor, less one, that it explains
    smallest: float  # number that the format holds in full; below it errors are absolute
    largest: float  # number of the format
    roundoff: float  # of a result as it is written
    summed: float = 1.0  # part of the limit that goes by what is added up; the rest goes by the result itself

    def of_sums(self) -> Limits:
        """Of sums of many elements with random signs, beside the root of how many they are: bell-shaped, so longer."""
        more = SUMS * self.roundoff
        return replace(self, element=self.element + more, reduced=BELL * self.reduced, summed=1.0)


def limits_of(rounding: Rounding, terms: int, dtype: str) -> Limits:
    """Of an operation that sums ``terms`` numbers, in a format by its name ("autocast-bfloat16").

    Formats shorter than float32 are expected to be summed in float32 and rounded at the end; autocast rounds the
    factors, too. Float64 is judged by sums as long as its own, which are off as far.
    """
    short = computed(dtype)
    own = ROUNDOFF[short]
    cast = short != dtype
    smallest, largest = SMALLEST[short], LARGEST[short]
    if rounding == "none" and not cast:
        return Limits(0.0, 0.0, 0.0, 0.0, 4 * own + 2 * TF32, max(REDUCED_BIAS, 2 * own), smallest, largest, own)
    summing = 2 * own if dtype == "float64" else ROUNDOFF["float32"]
    deviation = SUMMED * math.sqrt(terms) * summing
    few = FEW[rounding] * summing
    factors = 2 * own if cast else 0.0
    # of attention the weights are rounded before the values are multiplied by them
    late = own if rounding == "attention" and own > ROUNDOFF["float32"] else 0.0
    element = ELEMENT * deviation + few + 2 * own + factors + late
    return Limits(
        element,
        POPULATION * deviation + few / 2 + own + factors / 2,
        deviation + few / 2 + own / 2 + factors / 2,
        deviation + few / 4 + 0.75 * own + factors / 4,
        element + max(2 * TF32, 4 * own),
        max(REDUCED_BIAS, 2 * own),
        smallest,
        largest,
        own,
        1 - (2 * own + factors) / element,
    )
