"""Words that may come from a file, made harmless where they are drawn."""

import html
import re

MARKS = re.compile(r"([\\`*_{}\[\]<>#!|$~&^@]|:(?=[A-Za-z/])|(?<=www)\.)")  # a link, a picture, a formula, a colour …
UNSEEN = re.compile(r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")  # control and direction characters


def plain(text: object) -> str:
    """For Streamlit's Markdown: nothing in it is a link, a picture, a formula or a colour."""
    return MARKS.sub(r"\\\1", UNSEEN.sub(" ", str(text))).strip()


def escaped(text: object) -> str:
    """For Plotly and HTML: nothing in it is a tag."""
    return html.escape(UNSEEN.sub(" ", str(text)))
