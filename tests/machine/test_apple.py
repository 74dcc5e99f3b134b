"""What a Mac's tools print. We had no Mac: figures and forms are those of outputs that others published.

Cores: M1 Pro 8 + 2 (Dr-Noob/cpufetch#139), M2 Pro 8 + 4 (#183), M5 Max 6 super and 12 performance cores
(kennss/SiliconScope#30); M3 Pro 5 + 6, M2 Max 8 + 4, M3 Ultra 20 + 8, GPU cores 14, 30 or 38, 60, and those of M1 (7),
M4 (10), M5 (10) and M3 Max (40) from outputs in public repositories. Low power: ``lowpowermode`` (AlDente#603),
``powermode`` (OnlySwitch#168). The virtual machine, the Intel Mac and the spoilt ones are made up.
"""

import json
import sys
from dataclasses import asdict

import psutil  # noqa: F401  (before a test changes sys.platform)
import pytest

from bench.machine import apple
from bench.machine.environment import capture_environment
from bench.measure import doctor
from bench.text.tell import tell


def sysctl(model, *levels):
    lines = [f"hw.model: {model}"]
    for i, (name, count) in enumerate(levels):
        lines += [f"hw.perflevel{i}.name: {name}", f"hw.perflevel{i}.physicalcpu: {count}"]
    return "\n".join(lines)


def displays(*entries):
    return json.dumps({"SPDisplaysDataType": list(entries)})


M1_PRO = displays(
    {
        "_name": "Apple M1 Pro",
        "sppci_cores": "16",
        "sppci_model": "Apple M1 Pro",
        "spdisplays_ndrvs": [{"_spdisplays_display-serial-number": "SECRET123"}],
    }
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (sysctl("MacBookAir10,1", ("Performance", 4), ("Efficiency", 4)), (4, 4)),
        (sysctl("MacBookPro18,3", ("Performance", 8), ("Efficiency", 2)), (8, 2)),
        (sysctl("Mac14,6", ("Performance", 8), ("Efficiency", 4)), (8, 4)),
        (sysctl("Mac15,6", ("Performance", 5), ("Efficiency", 6)), (5, 6)),
        (sysctl("Mac15,14", ("Performance", 20), ("Efficiency", 8)), (20, 8)),
        ("hw.perflevel0.physicalcpu: 8\nhw.perflevel1.physicalcpu: 2", (8, 2)),  # no names yet
        (sysctl("Mac17,2", ("Super", 4), ("Efficiency", 6)), (4, 6)),
        (sysctl("Mac17,9", ("Super", 6), ("Performance", 12)), (18, 0)),
        (sysctl("VirtualMac2,1", ("Standard", 3)), (None, None)),
        (sysctl("Mac18,1", ("Super", 2), ("Performance", 4), ("Efficiency", 6)), (6, 6)),
        ("hw.model: MacBookPro16,1", (None, None)),  # an Intel Mac has no levels
        ("hw.perflevel0.physicalcpu: many", (None, None)),
        ("", (None, None)),
        ("garbage\0: :\n::", (None, None)),
        ("hw.perflevel1.physicalcpu: 4", (None, None)),
    ],
)
def test_cores_by_performance_level(text, wanted):
    assert apple.cores(apple.sysctl_values(text)) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        *(
            (displays({"_name": "Apple", "sppci_bus": "spdisplays_builtin", "sppci_cores": str(n)}), n)
            for n in (7, 10, 14, 30, 38, 40, 60)
        ),
        (M1_PRO, 16),
        (displays({"sppci_cores": "10"}), 10),
        (displays({"_name": "Intel UHD 630"}), None),
        (displays({"_name": "Intel"}, {"sppci_cores": "8"}), 8),
        (displays(), None),
        (M1_PRO[:-20], None),
        ("", None),
        ("[]", None),
        ("{}", None),
        ('{"SPDisplaysDataType": [3]}', None),
        (displays({"sppci_cores": "x"}), None),
    ],
)
def test_gpu_cores(text, wanted):
    assert apple.gpu_cores(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("System-wide power settings:\nCurrently in use:\n lowpowermode         1\n sleep  1\n", "on"),
        ("Currently in use:\n standby 1\n lowpowermode         0\n", "off"),
        (" powermode            2\n", "off"),
        (" powermode 1\n", "on"),
        (" lowpowermode 1\n powermode 0\n", "off"),
        (" powermode            0\n", "off"),
        ("Currently in use:\n sleep 1\n", "unknown"),
        ("", "unknown"),
    ],
)
def test_low_power_mode(text, wanted):
    assert apple.low_power(text) == wanted


def test_a_mac_is_asked_by_its_tools_and_no_serial_number_is_kept(monkeypatch):
    said = {
        "/usr/sbin/sysctl": sysctl("MacBookPro18,3", ("Performance", 8), ("Efficiency", 2)),
        "/usr/sbin/system_profiler": M1_PRO,
        "/usr/bin/pmset": " lowpowermode 1\n",
    }
    monkeypatch.setattr(apple, "run_tool", lambda tool, *arguments: said[tool])
    apple.this_mac.cache_clear()
    mac = apple.this_mac()
    apple.this_mac.cache_clear()
    assert mac == apple.Mac("MacBookPro18,3", 8, 2, 16)
    assert "SECRET" not in str(asdict(mac))


def test_tools_that_are_not_there_make_everything_unknown(monkeypatch):
    if sys.platform == "darwin":
        pytest.skip("here they are there")
    apple.this_mac.cache_clear()
    assert apple.this_mac() == apple.Mac()
    apple.this_mac.cache_clear()
    environment = capture_environment({"cpu": "x"})
    assert environment.low_power == "unknown" and environment.gpu_cores is None


def test_the_doctor_names_cores_and_complains_of_low_power_mode(monkeypatch):
    monkeypatch.setattr(doctor.sys, "platform", "darwin")
    monkeypatch.setattr(doctor, "this_mac", lambda: apple.Mac("MacBookPro18,3", 8, 2, 16))
    monkeypatch.setattr(doctor, "power_state", lambda: ("battery", "on"))
    finding = doctor._machine()
    assert not finding.good and not finding.needed and "Switch low-power mode off" in tell(finding.mend)
    assert tell(finding.text).startswith("MacBookPro18,3 · 8 performance and 2 efficiency cores · 16 GPU cores · ")


def test_power_is_asked_anew_each_time(monkeypatch):
    """It changes while the program runs; the hardware does not."""
    said = {"batt": "Now drawing from 'AC Power'\n", "-g": " lowpowermode 0\n"}
    monkeypatch.setattr(apple, "run_tool", lambda tool, *arguments: said[arguments[-1]])
    assert apple.power_now() == ("mains", "off")
    said.update({"batt": "Now drawing from 'Battery Power'\n -InternalBattery-0 99%", "-g": " lowpowermode 1\n"})
    assert apple.power_now() == ("battery", "on")
    said.update({"batt": "", "-g": "garbage"})
    assert apple.power_now() == ("unknown", "unknown")


def test_a_report_nested_without_end_is_no_report():
    assert apple.gpu_cores("[" * 100_000) is None
