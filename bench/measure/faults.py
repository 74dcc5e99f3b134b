"""Work that a device may refuse: what becomes of the refusal, and whether the device still works after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.records.case import kind_of
from bench.records.reason import Reason, because, reason_of

if TYPE_CHECKING:
    from bench.machine.devices import Device
    from bench.measure.job import Control


class FaultHandler:
    """Tries work on devices by name. One that fails for good is not tried again, in this job or a later one."""

    def __init__(self, devices: dict[str, Device], control: Control) -> None:
        self._devices, self._control = devices, control
        self._lost: dict[str, Reason] = {}

    def why_not(self, device: str) -> Reason | None:
        """Why nothing is tried on this device any more; None while it works."""
        return self._lost.get(kind_of(device))

    def fails(self, device: str | None, work: Callable[[], object], threads: int = 0) -> Reason | None:
        """Do the work. What the device (any of them, if None) says when it can't, as a reason; None if it can.

        The CPU uses so many ``threads``; 0 leaves them.

        Memory is given back after a failure, so that one case does not starve the next.
        """
        from bench.machine.devices import DEVICE_ERRORS, cpu_threads

        try:
            with cpu_threads(threads):
                work()
            return None
        except DEVICE_ERRORS as error:
            said = reason_of(error)
        self.release()  # outside the handler: the exception held the tensors
        for name in self._devices if device is None else (device,):
            self._examine(name)
        return said

    def release(self) -> None:
        """Give every working device's cached memory back."""
        from bench.machine.devices import DEVICE_ERRORS

        for name, device in self._devices.items():
            if self.why_not(name):
                continue
            try:
                device.release_memory()
            except DEVICE_ERRORS as error:
                self._lose(name, reason_of(error))

    def _examine(self, name: str) -> None:
        """Some errors are for good: a device that can't even add two numbers now is left alone."""
        if not self.why_not(name) and (error := self._devices[name].why_broken()):
            self._lose(name, error)

    def _lose(self, name: str, error: Reason) -> None:
        reason = because("stopped_working", error=error)
        self._lost[kind_of(name)] = because("not_tried", reason=reason)
        self._control.lose(kind_of(name), reason)
