"""What workloads, devices and cases are called."""

from __future__ import annotations

from typing import TypeVar

from bench.records.case import Case, Variant
from bench.records.environment import EMULATED, label_of
from bench.records.reason import Reason
from bench.records.run import Run
from bench.text.language import translate
from bench.text.units import count
from bench.workloads.networks import NETWORKS
from bench.workloads.operations import OPERATIONS

T = TypeVar("T")


def workload_name(workload: str) -> str:
    """ "Matrix × vector", "Training ConvNet"; one that this version does not know by its key."""
    network, slash, mode = workload.partition("/")
    if not slash:
        return translate(OPERATIONS[workload].title) if workload in OPERATIONS else workload
    title = NETWORKS[network].title if network in NETWORKS else network
    if mode == "train":
        return translate("Training {network}", network=title)
    return translate("Inference with {network}", network=title)


def sized_name(case: Case) -> str:
    """A workload and its size: "Matrix × vector, 1 500"."""
    return f"{workload_name(case.workload)}, {count(case.size)}"


def variant_name(run: Run, variant: Variant) -> str:
    """ "CPU", or "CPU · float16 · 1 thread"."""
    return " · ".join([run.label(variant.device), *variant.settings])


def the_variant(run: Run, variant: Variant) -> str:
    """A variant within a sentence: "the CPU"."""
    return _the(variant_name(run, variant))


def short_name(run: Run, case: Case) -> str:
    """A case without its variant: "1 500", or "Training ConvNet", with the batch where there are several."""
    return _case(case.workload, case.size, several=not run.batches <= {case.size})


def case_name(run: Run, case: Case) -> str:
    """The same where it stands alone: "Matrix × vector, 1 500"."""
    return short_name(run, case) if "/" in case.workload else sized_name(case)


def full_name(run: Run, case: Case) -> str:
    """With its variant, too: "Matrix × vector, 1 500 on MPS"."""
    return on(case_name(run, case), variant_name(run, case.variant))


def on(what: str, variant: str) -> str:
    """ "1 500 on MPS"."""
    return translate("{what} on {variant}", what=what, variant=variant)


def variant_of(figure: Reason) -> str:
    """Of ``Run.variant_figure``."""
    usual = Variant("?")
    variant = Variant(*(_taken(figure, name, getattr(usual, name)) for name in Variant._fields))
    hardware = EMULATED if _taken(figure, "emulated", 0) else ""
    return " · ".join([label_of(variant.device, hardware), *variant.settings])


def the_variant_of(figure: Reason) -> str:
    """The same within a sentence: "the CPU"."""
    return _the(variant_of(figure))


def case_of(figure: Reason) -> str:
    """Of ``Run.case_figure``."""
    size, several = _taken(figure, "size", 0), _taken(figure, "several", 0)
    return _case(_taken(figure, "workload", "?"), size, several=bool(several))


def workload_of(figure: Reason) -> str:
    """Of ``because("workload", key="convnet/train")``."""
    return workload_name(_taken(figure, "key", "?"))


def _taken(figure: Reason, name: str, usual: T) -> T:
    """A figure of this name and type; ``usual`` where there is none, as in a file of another version."""
    value = dict(figure.figures).get(name)
    return value if isinstance(value, type(usual)) else usual


def _the(name: str) -> str:
    return translate("the CPU") if name == "CPU" else name


def _case(workload: str, size: int, several: bool) -> str:
    if "/" not in workload:
        return count(size)
    name = workload_name(workload)
    if not several:
        return name
    return name + (translate(", one image") if size == 1 else translate(", batch {size}", size=count(size)))
