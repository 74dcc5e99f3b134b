"""The article's two networks and four more, for images of 1 × 28 × 28 and ten classes.

A new one is a function that makes it and a row of the table below; the rest of the program follows by itself.
FLOP counts are of one forward pass, a multiplication and an addition counted as two, of the linear
and convolutional layers alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bench.workloads.contract import Network, by_name

if TYPE_CHECKING:  # torch itself comes later, in the thread that measures
    from torch import nn


def mlp() -> nn.Module:
    """784 → 512 → 512 → 10 with batch normalisation and ReLU."""
    from torch import nn

    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(784, 512),
        nn.BatchNorm1d(512),
        nn.ReLU(),
        nn.Linear(512, 512),
        nn.BatchNorm1d(512),
        nn.ReLU(),
        nn.Linear(512, 10),
    )


def convnet() -> nn.Module:
    """Two 3 × 3 convolutions with pooling, two linear layers; no ReLU after the first convolution."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(3136, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def resnet18() -> nn.Module:
    """torchvision's, with one channel in and ten classes out."""
    from torch import nn
    from torchvision.models import resnet18

    net = resnet18(num_classes=10)
    net.conv1 = nn.Conv2d(1, 64, 7, stride=2, padding=3, bias=False)
    return net


def vit() -> nn.Module:
    """torchvision's vision transformer: 16 patches of 7 × 7, four layers of width 128."""
    from torch import nn
    from torchvision.models import VisionTransformer

    net = VisionTransformer(28, 7, num_layers=4, num_heads=4, hidden_dim=128, mlp_dim=256, num_classes=10)
    net.conv_proj = nn.Conv2d(1, 128, 7, stride=7)
    nn.init.trunc_normal_(net.heads.head.weight, std=0.02)  # of zeros, as it comes, no gradient gets past it
    return net


def lstm() -> nn.Module:
    """The 28 rows of an image one after another, 128 units."""
    from bench.workloads.modules import Rows

    return Rows()


def gpt() -> nn.Module:
    """The 28 rows of an image as tokens: four causal transformer blocks of width 128."""
    from bench.workloads.modules import CausalBlocks

    return CausalBlocks()


NETWORKS: Mapping[str, Network] = by_name(
    (
        Network(
            "mlp",
            title="MLP",
            make=mlp,
            parameters=671_754,
            forward_flops=2 * (784 * 512 + 512 * 512 + 512 * 10),
            smallest_batch=2,
        ),
        Network(
            "convnet",
            title="ConvNet",
            make=convnet,
            parameters=421_642,
            forward_flops=2 * (28 * 28 * 32 * 9 + 14 * 14 * 64 * 32 * 9 + 3136 * 128 + 128 * 10),
            images=True,
        ),
        Network(
            "resnet18",
            title="ResNet-18",
            make=resnet18,
            parameters=11_175_370,
            forward_flops=2 * (14 * 14 * 64 * 49 + 4 * 7 * 7 * 64 * 64 * 9 + 512 * 10)
            + 3 * 2**24,  # stem, stage 1, head, others
            smallest_batch=2,
            images=True,
        ),
        Network(
            "vit",
            title="Small ViT",
            make=vit,
            parameters=540_170,
            forward_flops=2 * (16 * 49 * 128 + 4 * 17 * (4 * 128 * 128 + 2 * 128 * 256) + 128 * 10),
        ),
        Network(
            "lstm",
            title="LSTM",
            make=lstm,
            parameters=82_186,
            forward_flops=2 * (28 * 4 * 128 * (28 + 128) + 128 * 10),
        ),
        Network(
            "gpt",
            title="Small GPT",
            make=gpt,
            parameters=801_674,
            forward_flops=2 * (28 * 28 * 128 + 4 * 28 * (4 * 128 * 128 + 2 * 128 * 512) + 128 * 10),
        ),
    )
)
