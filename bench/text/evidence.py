"""What the doctor and its checks found, as text for a terminal and as a file to send; in English, whoever looks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from bench.measure.doctor import Finding
from bench.records.checkup import Checkup
from bench.text.language import ENGLISH, speaking
from bench.text.tell import tell


def to_send(checkup: Checkup) -> str:
    """All of it as one JSON text; like a run, without host or user name."""
    with speaking(ENGLISH):
        checks = [
            {
                "device": one.device,
                "name": tell(one.name),
                "good": one.good,
                "text": tell(one.text),
                "reason": one.text.plain(),
            }
            for one in checkup.checks
        ]
    found = {"environment": asdict(checkup.environment), "checks": checks}
    return json.dumps(found, indent=1, ensure_ascii=False)


def report(findings: Sequence[Finding]) -> str:
    """The findings, one a line."""
    names = [tell(finding.name) for finding in findings]
    width = max(map(len, names))
    lines = []
    for finding, name in zip(findings, names, strict=True):
        mark = "ok     " if finding.good else ("MISSING" if finding.needed else "absent ")
        lines.append("  ".join(filter(None, (mark, name.ljust(width), tell(finding.text), tell(finding.mend)))))
    return "\n".join(lines)
