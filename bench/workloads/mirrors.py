"""One file from the first of several mirrors that delivers it whole; every failure says what it was, and what to do."""

from __future__ import annotations

import hashlib
import ssl
from collections.abc import Callable, Iterator, Sequence
from http.client import HTTPException
from urllib import error, parse, request

from bench.records.reason import Quantity, Reason, Refused, because


class MirrorError(Refused):
    """Why one mirror did not deliver a file, or all of them."""


def fetch(
    name: str,
    md5: str,
    most_bytes: int,
    mirrors: Sequence[str],
    timeout_s: float,
    step: Callable[[str, int, int], object],
) -> bytes:
    """The file of this name with this checksum, below the first of ``mirrors`` (addresses of folders) that has it.

    ``step(name, received, size)``, in bytes, follows each chunk; what it raises ends the download. ``size`` is
    ``most_bytes`` until the server tells. Raises MirrorError with the reason of each mirror.
    """
    failures: list[Reason] = []
    for mirror in mirrors:
        content = bytearray()
        step(name, 0, most_bytes)
        try:
            for chunk, size in _stream(f"{mirror.rstrip('/')}/{name}", most_bytes, timeout_s):
                content += chunk
                step(name, len(content), size)
            if md5_of(content) == md5:
                return bytes(content)
            host = parse.urlsplit(mirror).hostname
            failures.append(because("wrong_checksum", name=name, host=host or ""))
        except MirrorError as failure:
            failures.append(failure.reason)
    raise MirrorError("several", parts=tuple(failures))


def md5_of(content: bytes | bytearray) -> str:
    """In hexadecimal, as lists of checksums have it."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _stream(url: str, most_bytes: int, timeout_s: float) -> Iterator[tuple[bytes, int]]:
    """Yield each chunk with the file's size as far as known; every failure becomes a MirrorError."""
    host, received = parse.urlsplit(url).hostname, 0
    try:
        context = ssl.create_default_context()  # verifies, whatever the process set as urllib's default
        with request.urlopen(url, timeout=timeout_s, context=context) as response:
            size = int(response.headers.get("Content-Length", 0))
            while received <= most_bytes and (chunk := response.read1(1 << 16)):  # no endless answer
                received += len(chunk)
                yield chunk, max(size, received)
        if received < size:
            raise MirrorError("connection_broke_off", host=host or "", received=received, size=size)
    except (OSError, HTTPException, ValueError) as failure:
        raise MirrorError(_why(failure, host, timeout_s)) from failure


def _why(failure: Exception, host: str | None, timeout_s: float) -> Reason:
    cause = failure.reason if type(failure) is error.URLError else failure
    if isinstance(cause, error.HTTPError):
        cause.close()  # it is the open answer, too
        return because("file_refused", host=host or "", code=cause.code)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return because("unverified_certificate", host=host or "", message=cause.verify_message)
    if isinstance(cause, TimeoutError):
        return because("no_answer", host=host or "", time=Quantity(timeout_s, "s"))
    return because("connection_failed", host=host or "", reason=f"{str(cause)!r:.90}")
