"""Networks that are more than a sequence of layers. Imports torch, so only whoever makes one imports this."""

import torch
from torch import nn

ROWS, WIDTH, CLASSES = 28, 128, 10


class Rows(nn.Module):
    """(batch, 1, 28, 28) to (batch, 10): an LSTM over the rows, its last state read out."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(ROWS, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.lstm(x.flatten(1, 2))[0][:, -1])


class CausalBlocks(nn.Module):
    """(batch, 1, 28, 28) to (batch, 10): each row a token that sees those before it, the last one read out."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(ROWS, WIDTH)
        self.place = nn.Parameter(torch.zeros(ROWS, WIDTH))
        block = nn.TransformerEncoderLayer(
            WIDTH, 4, 4 * WIDTH, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(block, 4, enable_nested_tensor=False)
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        later = torch.full((ROWS, ROWS), -torch.inf, device=x.device, dtype=x.dtype).triu(1)
        return self.out(self.blocks(self.embed(x.flatten(1, 2)) + self.place, mask=later, is_causal=True)[:, -1])
