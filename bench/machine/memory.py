"""How much memory a case holds: what its tensors really use, and the pool that was taken from the system for it.

Where the device's allocator keeps a peak (CUDA, XPU), that is read. The CPU and MPS keep none; there the storages that
one step touches or makes are counted as they come and go, which leaves out what a kernel takes for itself meanwhile.
Nothing here is timed: it happens in a step of its own. What is compiled must not be called in here: to count, PyTorch
leaves its compiled code aside, and some versions (seen in 2.11) then never take it up again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from bench.records.measurement import ALLOCATOR, TENSORS, Memory

if TYPE_CHECKING:
    from bench.machine.devices import Device


def peak_memory(device: Device, work: Callable[[], object]) -> Memory:
    """Do ``work()`` once, unhurried. Bytes that its tensors held at most, weights and inputs among them."""
    module = device.module
    has_peak = device.name != "cpu" and hasattr(module, "reset_peak_memory_stats")
    if has_peak:
        module.reset_peak_memory_stats()
        before = module.memory_allocated()
    counter = _counter()
    with counter:
        work()
    device.synchronize()
    if has_peak:  # what was there before and is touched is part of it; the rest belongs to other cases
        grown = module.max_memory_allocated() - before
        return Memory(counter.touched + grown, module.max_memory_reserved(), ALLOCATOR)
    return Memory(counter.touched + counter.most, device.pool_bytes(), TENSORS)


def _counter():
    """A mode of PyTorch that counts storages: ``touched`` bytes were there before, ``most`` came at most."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Counter(TorchDispatchMode):
        touched = most = 0

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # nothing compiled is called in it, and hiding from the compiler imports it: over a second

        def __init__(self) -> None:
            super().__init__()
            self._now = 0
            self._seen: dict[int, int] = {}

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            for tensor in tree_leaves((args, kwargs)):
                if new := self._new(tensor):
                    self.touched += new
            result = function(*args, **(kwargs or {}))
            for tensor in tree_leaves(result):
                if new := self._new(tensor, self._gone):
                    self._now += new
                    self.most = max(self.most, self._now)
            return result

        def _new(self, tensor: object, when_gone: Callable[[int], None] | None = None) -> int:
            """Bytes of a storage on first sight."""
            if not isinstance(tensor, torch.Tensor):
                return 0
            storage = tensor.untyped_storage()
            if storage._cdata in self._seen:
                return 0
            bytes_held = self._seen[storage._cdata] = storage.nbytes()
            weakref.finalize(storage, when_gone or self._seen.pop, storage._cdata)
            return bytes_held

        def _gone(self, key: int) -> None:
            self._now -= self._seen.pop(key)

    return Counter()
