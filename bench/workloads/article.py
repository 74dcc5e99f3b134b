"""What the article published: its sizes, its seconds, and where they come from."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

ARTICLE_SIZES = (100, 300, 500, 750, 1000, 1500, 2000, 2500, 3000)
STORY = Path(__file__).parent / "article.json"


@cache
def published() -> dict[str, Any]:
    """The article's figures: ``seconds`` by workload and device, and where they come from."""
    return json.loads(STORY.read_text(encoding="utf-8"))
