"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # torch itself comes later, in the thread that measures
    pass
import json
from functools import cache
from pathlib import Path

if TYPE_CHECKING:
    pass
ARTICLE_SIZES = (100, 300, 500, 750, 1000, 1500, 2000, 2500, 3000)
STORY = Path(__file__).parent / "article.json"


@cache
def published() -> dict:
    """The article's figures: ``seconds`` by workload and device, and where they come from."""
    return json.loads(STORY.read_text(encoding="utf-8"))
