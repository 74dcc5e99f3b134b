"""The article's two networks, for images of 1 × 28 × 28 and ten classes.

FLOP counts are of one forward pass, a multiplication and an addition counted as two, of the linear
and convolutional layers alone.
"""

from bench.registry import network


@network(
    "mlp",
    title="MLP",
    parameters=671_754,
    forward_flops=2 * (784 * 512 + 512 * 512 + 512 * 10),
    smallest_batch=2,
)
def mlp():
    """784 → 512 → 512 → 10 with batch normalisation and ReLU."""
    from torch import nn

    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, 512), nn.BatchNorm1d(512), nn.ReLU(),
        nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU(),
        nn.Linear(512, 10),
    )  # fmt: skip


@network(
    "convnet",
    title="ConvNet",
    parameters=421_642,
    forward_flops=2 * (28 * 28 * 32 * 9 + 14 * 14 * 64 * 32 * 9 + 3136 * 128 + 128 * 10),
)
def convnet():
    """Two 3 × 3 convolutions with pooling, two linear layers; no ReLU after the first convolution."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(3136, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
