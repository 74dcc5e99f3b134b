"""Words that may come from a file, made harmless where they are drawn."""

import html
import re

JOINER = "\u2060"  # has no width; breaks what Streamlit looks for after it has taken the backslashes away
MARKS = re.compile(r"([\\`*_{}\[\]<>#!|$~&^])")  # a link, a picture, a formula, a colour …
PATTERNS = re.compile(
    r"(:(?=[^\s\d])|@|[wW]{3}(?=\.))"
)  # :red[…], :material/…:, :smile:, https://, www., a mail address
UNSEEN = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069]+")  # control and direction characters


def plain(text: object) -> str:
    """For Streamlit's Markdown: nothing in it is a link, a picture, a formula or a colour."""
    return PATTERNS.sub(rf"\1{JOINER}", MARKS.sub(r"\\\1", UNSEEN.sub(" ", str(text)))).strip()


def escaped(text: object) -> str:
    """For Plotly and HTML: nothing in it is a tag."""
    return html.escape(UNSEEN.sub(" ", str(text)))
