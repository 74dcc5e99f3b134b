"""The contract of a thing to measure: a row of the tables of operations and networks.

An operation says what it computes on which tensors, what one step *costs*, and over which sizes it
is swept. A network says how it is made and what it costs an image. Neither reads a clock nor knows
a device: inputs and weights are made once on the CPU from a seed and copied to each device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

from bench.records.cost import Cost

if TYPE_CHECKING:  # torch itself comes later, in the thread that measures
    from torch import Tensor, nn

Step = Callable[[], "Tensor"]  # one unit of work on tensors already in place
Draw = Callable[..., "Tensor"]  # draw(*shape): uniform random numbers on the CPU, from the run's seed
Rounding = Literal["sums", "elementwise", "softmax", "layernorm", "attention", "none"]  # of an honest answer


@dataclass(frozen=True, slots=True)
class Mixture:
    """A linear operation's answer, summed over groups of lines with random signs, is that to inputs so summed."""

    along: int  # dimension of the answer whose lines are looked at in turn
    mixed: int  # dimension of the answer that is summed
    inputs: Callable[..., tuple[Tensor, ...]]  # inputs(mix, *inputs), where mix(input, dimension) sums
    exact: Callable[..., Tensor]  # exact(lines, *inputs): lines of the answer


@dataclass(frozen=True, slots=True)
class Truth:
    """The right answer of an operation, and how far off an honest one may be. See ``references.py``."""

    exact: Callable[..., Tensor]  # exact(lines, *inputs): lines (a slice of one dimension) of the right answer
    rounding: Rounding = "sums"
    terms: Callable[[int], int] = lambda size: 1  # how many numbers an element of the answer sums
    magnitude: Callable[..., Tensor] | None = None  # (exact, lines, *inputs) of what is summed; None: of |inputs|
    along: int = 0  # dimension of the answer that the lines are of
    lines: Callable[[int], int] = lambda size: size  # how many there are
    axes: tuple[str, ...] = ()  # names of its dimensions, where they are not image, channel, row, column
    mixtures: tuple[Mixture, ...] = ()  # of an answer that is too large for float64
    witness: Callable[..., float] | None = None  # witness(index, *inputs): an element, computed in another way
    estimate: Callable[..., Tensor] | None = None  # as ``exact``, cheap and nearly right, for what is too large


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the table of operations."""

    name: str  # "matvec"
    title: str  # "Matrix × vector"
    formula: str  # for people: "B a, with B of m × m numbers and a of m"
    build: Callable[[Draw, int], tuple[Callable[..., Tensor], tuple[Tensor, ...]]]
    truth: Truth  # how its answers are judged
    cost: Callable[[int, int], Cost]  # cost(size, width): ``width`` bytes a number
    axis: str = "m"  # label of the swept size
    memory: Callable[[int, int], int] | None = None  # bytes on a device, where they are more than the step moves
    inputs_on: Literal["device", "host"] = "device"  # "host": the step takes them there, function(*inputs, device=...)
    images: bool = False  # its inputs of four dimensions are images, whose channels may lie last in memory

    def bytes_needed(self, size: int, width: int) -> int:
        """Bytes of all inputs and outputs of one step, on one device."""
        return self.memory(size, width) if self.memory else self.cost(size, width).bytes_moved


@dataclass(frozen=True, slots=True)
class Network:
    """One row of the table of networks: a model that is trained and used for inference."""

    name: str  # "convnet"
    title: str
    make: Callable[[], nn.Module]
    parameters: int
    forward_flops: int  # per image
    smallest_batch: int = 1  # batch normalisation cannot train on a single image
    images: bool = False  # it convolves, so that the order of channels in memory matters


Row = TypeVar("Row", Operation, Network)


def by_name(rows: Iterable[Row]) -> dict[str, Row]:
    """A table of rows by their names, in their order. ValueError for a name given twice."""
    table: dict[str, Row] = {}
    for row in rows:
        if row.name in table:
            raise ValueError(f"{row.name!r} is in the table already")
        table[row.name] = row
    return table
