"""What is here, what is missing, and the command or setting that mends it."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from bench.machine.apple import Mac, this_mac
from bench.machine.environment import chip_name, is_translated, power_state
from bench.machine.home import bench_home
from bench.text.language import LIST, noted
from bench.text.units import size

PACKAGES = ("torch", "torchvision", "streamlit", "plotly", "pandas", "numpy", "scipy")
LEAST_TORCH = (2, 9)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    name: str
    good: bool
    text: str  # what is so
    mend: str = ""  # what to do
    needed: bool = True  # without it, nothing can be measured


def examine(devices=None) -> tuple[Finding, ...]:
    """Look at everything. ``devices`` are those the runner found; without them, look now (imports torch)."""
    if devices is None:
        from bench.measure.discovery import find_devices

        devices = find_devices()
    return (_python(), _machine(), *_packages(), *map(_device, devices), _fallback(), _folder(), _images())


def report(findings: tuple[Finding, ...]) -> str:
    """The findings as text, one a line."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        mark = "ok     " if finding.good else ("MISSING" if finding.needed else "absent ")
        lines.append(
            f"{mark}  {finding.name.ljust(width)}  {finding.text}" + (f"  {finding.mend}" if finding.mend else "")
        )
    return "\n".join(lines)


def _python() -> Finding:
    text = (
        f"Python {platform.python_version()} ({platform.machine()}) on {platform.platform(terse=True)}, {chip_name()}"
    )
    if is_translated():
        return Finding(
            "python",
            False,
            noted("{text}, an Intel build run by Rosetta.", text=text),
            noted("Install an arm64 Python."),
        )
    if sys.platform == "darwin" and platform.machine() != "arm64":
        return Finding("python", False, text + ".", noted("Intel Macs are not supported: PyTorch no longer is there."))
    return Finding("python", True, text)


def _machine() -> Finding:
    """Cores, memory, power: what a result depends on and nobody thinks of."""
    import psutil

    mac = this_mac() if sys.platform == "darwin" else Mac()
    power, low_power = power_state()
    parts = [noted("{cores} cores", cores=psutil.cpu_count(logical=False) or psutil.cpu_count())]
    if mac.performance_cores:
        fast, saving = mac.performance_cores, mac.efficiency_cores
        parts = [noted("{fast} performance and {saving} efficiency cores", fast=fast, saving=saving)]
    if mac.gpu_cores:
        parts.append(noted("{cores} GPU cores", cores=mac.gpu_cores))
    parts += [
        size(psutil.virtual_memory().total),
        noted("power: {power}", power=power),
        noted("low-power mode: {mode}", mode=low_power),
    ]
    text = LIST.join(filter(None, [mac.model, *parts]))
    if low_power == "on":
        return Finding(
            noted("machine"), False, text, noted("Switch low-power mode off: it slows everything."), needed=False
        )
    return Finding(noted("machine"), True, text, needed=False)


def _packages() -> list[Finding]:
    findings = []
    for name in PACKAGES:
        needed = name not in ("streamlit", "plotly")  # the command line works without the page
        try:
            found = version(name)
        except PackageNotFoundError:
            findings.append(
                Finding(
                    name, False, noted("not installed."), noted("Run: {command}", command=f"pip install {name}"), needed
                )
            )
            continue
        old = name == "torch" and tuple(int(part) for part in found.split(".")[:2]) < LEAST_TORCH
        mend = noted("Run: {command}", command="pip install --upgrade torch torchvision") if old else ""
        findings.append(Finding(name, not old, found, mend, needed))
    return findings


def _device(info) -> Finding:
    needed = info.name == "cpu"
    if not info.usable:
        return Finding(info.label, False, info.reason, needed=needed)
    gaps = [noted("not {dtype} ({reason})", dtype=name, reason=reason.rstrip(".")) for name, reason in info.gaps]
    formats = [", ".join(info.dtypes), *gaps] if info.dtypes else []
    return Finding(info.label, True, LIST.join([info.hardware, *formats]), needed=needed)


def _fallback() -> Finding:
    if os.environ.get("PYTORCH_ENABLE_MPS_FALLBACK", "0") not in ("", "0"):
        mend = noted("Unset it: operators that MPS lacks would run on the CPU unseen.")
        return Finding(noted("MPS fallback"), False, noted("PYTORCH_ENABLE_MPS_FALLBACK is set."), mend, needed=False)
    return Finding(noted("MPS fallback"), True, noted("off: an operator that MPS lacks fails visibly"), needed=False)


def _folder() -> Finding:
    home = bench_home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        probe = home / ".writable"
        probe.write_text("")
        probe.unlink()
    except OSError as error:
        mend = noted("Set BENCH_HOME to a folder that can be written.")
        text = noted("{home} can't be written ({error}).", home=home, error=error.strerror or error)
        return Finding(noted("folder"), False, text, mend, needed=False)
    return Finding(noted("folder"), True, str(home), needed=False)


def _images() -> Finding:
    from bench.workloads.datasets import available

    if available():
        return Finding("Fashion-MNIST", True, noted("complete"), needed=False)
    mend = noted("Download it on the Training page, or with: python -m bench train --download")
    return Finding("Fashion-MNIST", False, noted("not downloaded."), mend, needed=False)
