"""One network on one variant: its single steps. Nothing here reads a clock except to take phases apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bench.measure import clock
from bench.measure.compiling import answer, compiled
from bench.measure.plans import TrainingPlan
from bench.records.case import Variant
from bench.records.formats import AUTOCAST, CHANNELS_LAST, stored
from bench.workloads.contract import Network
from bench.workloads.datasets import ImageSet

if TYPE_CHECKING:
    from torch import Tensor

    from bench.machine.devices import Device

Lap = Callable[[str], None]  # ends the stretch it names
PHASES = ("loading", "copy", "forward", "backward", "optimiser")  # of a training step; inference has the first three
EVALUATION_BATCH = 1000
SCALE = 2.0**12  # of a loss in float16 at first


def initial_weights(network: Network, seed: int) -> dict[str, Tensor]:
    """The weights every device starts from: made on the CPU, decided by the seed."""
    import torch

    torch.manual_seed(seed)
    return network.make().state_dict()


def order(plan: TrainingPlan, epoch: int) -> Tensor:
    """In which order an epoch shows the images, (images,) int64; the same on every device."""
    import torch

    generator = torch.Generator().manual_seed(plan.seed + 1 + epoch)
    return torch.randperm(plan.images, generator=generator)


class Trainer:
    """A network with its optimiser on a device, computing as a variant says."""

    def __init__(
        self,
        network: Network,
        device: Device,
        images: ImageSet,
        plan: TrainingPlan,
        weights: dict[str, Tensor],
        variant: Variant,
    ) -> None:
        import torch

        self.device, self.variant, self._images = device, variant, images
        self._layout = torch.channels_last if variant.layout == CHANNELS_LAST else torch.contiguous_format
        self._dtype = getattr(torch, stored(variant.dtype))
        self.net = network.make()
        self.net.load_state_dict(weights)
        self.net.to(device.torch, self._dtype)
        self.net.to(memory_format=self._layout).train()
        self._call = compiled(self.net) if variant.compiled else self.net
        self.learning_rate = plan.learning_rate
        self._optimizer = torch.optim.Adam(self.net.parameters(), lr=plan.learning_rate)
        # products in float16 need their small gradients scaled up; elsewhere this changes nothing
        self._scaler = torch.amp.GradScaler(
            device.name, init_scale=SCALE, enabled=variant.dtype == AUTOCAST + "float16"
        )

    def step(self, index: Tensor, lap: Lap | None = None) -> Tensor:
        """One training step on the images of ``index``; the mean loss, still on the device."""
        from torch.nn.functional import cross_entropy

        x, y = self.batch(index, lap)
        self._optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(self._answer(self._call, x), y)
        if lap:
            lap("forward")
        self._scaler.scale(loss).backward()
        if lap:
            lap("backward")
        self._scaler.step(self._optimizer)
        self._scaler.update()
        if lap:
            lap("optimiser")
        return loss.detach()

    def steps(self, batches: Sequence[Tensor], totals: Tensor, segment: int) -> None:
        """Train on several batches, adding up their images' losses on the device, since reading them would wait.

        ``totals`` has a place for every ``segment`` batches.
        """
        for i, index in enumerate(batches):
            totals[i // segment].add_(self.step(index), alpha=len(index))

    def infer(self, index: Tensor, lap: Lap | None = None) -> Tensor:
        """The network's answer to the images of ``index``, (len(index), 10)."""
        import torch

        with torch.inference_mode():
            x, _ = self.batch(index, lap)
            out = self._answer(self._call, x)
            if lap:
                lap("forward")
            return out

    def _answer(self, call: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        return answer(call, x, self.device.name, self.variant.dtype)

    def infer_all(self, batches: Sequence[Tensor]) -> None:
        for index in batches:
            self.infer(index)

    def wake(self, index: Tensor) -> None:
        """Work that changes nothing: neither weights nor batch statistics."""
        training = self.net.training
        self.net.eval()
        self.infer(index)
        self.net.train(training)
        self.device.synchronize()

    def phases(
        self, work: Callable[[Tensor, Lap], object], index: Tensor, repeats: int
    ) -> dict[str, tuple[float, ...]]:
        """Seconds of each phase of ``work(index, lap)``, waiting for the device after each, ``repeats`` times."""
        found: dict[str, tuple[float, ...]] = {}
        for _ in range(repeats):
            self.device.synchronize()
            watch = clock.Stopwatch()

            def lap(name: str, watch: clock.Stopwatch = watch) -> None:
                self.device.synchronize()
                watch.lap(name)

            work(index, lap)
            for name, seconds in watch.laps.items():
                found[name] = (*found.get(name, ()), seconds)
        return found

    def accuracy(self, check: Callable[[], None]) -> float:
        """Fraction of the test images told right; ``check`` may end it early by raising."""
        import torch

        right, images = 0, self._images
        pairs = zip(images.test_x.split(EVALUATION_BATCH), images.test_y.split(EVALUATION_BATCH), strict=True)
        self.net.eval()
        with torch.inference_mode():
            for x, labels in pairs:
                check()
                answers = self._answer(self.net, self._placed(x))  # not compiled for one pass
                right += (answers.argmax(1).cpu() == labels).sum().item()
        return right / len(images.test_y)

    def batch(self, index: Tensor, lap: Lap | None = None) -> tuple[Tensor, Tensor]:
        """Take a batch from memory and copy it. Blocking copies: others have arrived as garbage."""
        x, y = self._images.train_x[index], self._images.train_y[index]
        if lap:
            lap("loading")
        x, y = self._placed(x), y.to(self.device.torch)
        if lap:
            lap("copy")
        return x, y

    def _placed(self, x: Tensor) -> Tensor:
        """Images on the device, in the variant's format and layout."""
        x = x.to(self.device.torch)
        return x.to(self._dtype, memory_format=self._layout)  # nothing, on the usual variant
