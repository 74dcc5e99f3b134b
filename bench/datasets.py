"""Images for the training benchmarks, 1×28×28 in ten classes: Fashion-MNIST, a synthetic set, or IDX files.

Torch and torchvision are imported inside functions, as a page imports this module before they may be loaded.
"""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib import error, parse, request

import numpy as np

from bench.home import bench_home

if TYPE_CHECKING:
    from torch import Tensor

FASHION, SYNTHETIC = "fashion-mnist", "synthetic"
SOURCES = {FASHION: "Fashion-MNIST", SYNTHETIC: "synthetic stand-in (not real images)"}
FILES = {  # any MNIST-like set's names, with the bytes of Fashion-MNIST's files as downloaded and unpacked
    "train-images-idx3-ubyte": (26_421_880, 47_040_016),
    "train-labels-idx1-ubyte": (29_515, 60_008),
    "t10k-images-idx3-ubyte": (4_422_102, 7_840_016),
    "t10k-labels-idx1-ubyte": (5_148, 10_008),
}
CLASSES, SIDE, MAX_BYTES = 10, 28, 784_000_016  # the last of one .gz file unpacked: a million images
OR_SYNTHETIC = f"or choose “{SYNTHETIC}”"


class DataError(Exception):
    """One sentence that says what is wrong and what to do."""


class Cancelled(DataError):
    """The download was stopped because ``cancelled()`` said so."""


class _MirrorError(Exception):
    """Why one mirror did not deliver a file; the next one may."""


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images, float32 in [0, 1] of shape (n, 1, 28, 28), contiguous, and classes, int64 0..9 of shape (n,).

    All on the CPU.  ``name`` is the source ("idx" for a folder); ``label`` tells people what and from where.
    """

    name: str
    label: str
    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


def load(source: str = FASHION, *, images: int | None = None, folder: Path | None = None) -> ImageSet:
    """Load "fashion-mnist", "synthetic", or the folder with the four IDX files whose path ``source`` is.

    ``images`` keeps only the first so many training images; the test set stays whole.  ``folder`` is the data
    folder of Fashion-MNIST (default: ``data`` under ``bench_home()``).  Nothing is downloaded; .gz files put
    there by hand are unpacked.  Raises DataError: data missing, damaged or foreign, ``images`` out of range.
    """
    if source == FASHION:
        name, label, arrays = _fashion_mnist(_fashion_class(), _raw_folder(folder))
    else:
        name, label, arrays = _synthetic() if source == SYNTHETIC else _idx(source)
    import torch

    train_x, train_y, test_x, test_y = arrays
    count, most = len(train_x) if images is None else images, len(train_x)
    if type(count) is not int or not 1 <= count <= most:
        raise DataError(f"{images} training images were asked for: choose a whole number from 1 to {most}.")
    x, x_test = (torch.from_numpy(np.divide(a, 255, dtype="f4"))[:, None] for a in (train_x[:count], test_x))
    y, y_test = (torch.from_numpy(a.astype(np.int64)) for a in (train_y[:count], test_y))
    return ImageSet(name, label, x, y, x_test, y_test)


def available(folder: Path | None = None) -> bool:
    """Whether Fashion-MNIST lies complete in the data folder, by sizes alone; ``load`` checks contents."""
    found = _found(_raw_folder(folder))
    return len(found) == 4 and all(p.stat().st_size == FILES[p.stem][p.suffix != ".gz"] for p in found)


def download_fashion_mnist(
    folder: Path | None = None,
    *,
    progress: Callable[[int, int], object] | None = None,
    cancelled: Callable[[], bool] | None = None,
    timeout_s: float = 20.0,
    mirrors: Sequence[str] | None = None,
) -> Path:
    """Download, check, unpack and load Fashion-MNIST (about 31 MB) once; return the folder of its files.

    Names, checksums and (without ``mirrors``) addresses are torchvision's.  Files there with the right
    checksum stay, others are replaced.  ``progress(done_bytes, total_bytes)`` follows each chunk; the total is
    an estimate until all sizes are known, ``done`` falls when a mirror fails.  ``cancelled()`` is asked as
    often; a silent server delays that by up to ``timeout_s`` seconds.  Raises Cancelled, or DataError.
    """
    fashion, raw = _fashion_class(), _raw_folder(folder)
    done, total = {}, {name: FILES[name[:-3]][0] for name, _ in fashion.resources}

    def step(name: str, received: int, size: int) -> None:
        done[name], total[name] = received, size
        if progress is not None:
            progress(sum(done.values()), sum(total.values()))
        if cancelled is not None and cancelled():
            raise Cancelled("The download was cancelled; start it again to go on with the missing files.")

    for name, md5 in fashion.resources:
        content = _read(raw / name) if os.path.isfile(raw / name) else b""
        if _md5(content) != md5:
            _write(raw, {})  # an unusable folder shows before megabytes are fetched
            content = _fetch(raw / name, md5, mirrors or fashion.mirrors, timeout_s, step)
            _write(raw, {name: content})
        step(name, len(content), len(content))
    _fashion_mnist(fashion, raw)
    return raw


def _fetch(target: Path, md5: str, mirrors: Sequence[str], timeout_s: float, step: Callable) -> bytes:
    """The content for ``target``, with the right checksum, from the first mirror that delivers it."""
    failures, limit = [], FILES[target.stem][0]
    for mirror in mirrors:
        content = bytearray()
        step(target.name, 0, limit)
        try:
            for chunk, size in _stream(f"{mirror.rstrip('/')}/{target.name}", limit, timeout_s):
                content += chunk
                step(target.name, len(content), size)
            if _md5(content) == md5:
                return bytes(content)
            failures.append(f"{target.name} has a wrong checksum at {parse.urlsplit(mirror).hostname}")
        except _MirrorError as failure:
            failures.append(str(failure))
    why, by_hand = "; ".join(failures), f"put its four .gz files into {target.parent}"
    raise DataError(f"Fashion-MNIST could not be downloaded: {why}; try again, {by_hand}, {OR_SYNTHETIC}.")


def _stream(url: str, limit: int, timeout_s: float) -> Iterator[tuple[bytes, int]]:
    """Yield each chunk with the file's size as far as known; every failure becomes a _MirrorError."""
    host, received = parse.urlsplit(url).hostname, 0
    try:
        context = ssl.create_default_context()  # verifies, whatever the process set as urllib's default
        with request.urlopen(url, timeout=timeout_s, context=context) as response:
            size = int(response.headers.get("Content-Length", 0))
            while received <= limit and (chunk := response.read1(1 << 16)):  # no endless answer
                received += len(chunk)
                yield chunk, max(size, received)
        if received < size:
            raise _MirrorError(f"the connection to {host} broke off after {received} of {size} bytes")
    except (OSError, HTTPException, ValueError) as failure:
        reason = failure.reason if type(failure) is error.URLError else failure
        why = f"the connection to {host} failed ({str(reason)!r:.90}), check the network and the proxy"
        if isinstance(reason, error.HTTPError):
            reason.close()  # it is the open answer, too
            why = f"{host} refused the file (HTTP {reason.code})"
        elif isinstance(reason, ssl.SSLCertVerificationError):
            remedy = "set SSL_CERT_FILE, or on macOS run Python's “Install Certificates.command”"
            why = f"the certificate of {host} could not be verified ({reason.verify_message}): {remedy}"
        elif isinstance(reason, TimeoutError):
            why = f"{host} did not answer within {timeout_s:g} s"
        raise _MirrorError(why) from failure


def _raw_folder(folder: Path | None) -> Path:
    return (bench_home() / "data" if folder is None else Path(folder)) / "FashionMNIST" / "raw"


def _fashion_class():
    try:
        from torchvision.datasets import FashionMNIST
    except (ImportError, RuntimeError, OSError) as failure:  # RuntimeError: built for another torch
        raise DataError(f"torchvision cannot be loaded ({failure}): reinstall it, {OR_SYNTHETIC}.") from failure
    return FashionMNIST


def _md5(content: bytes | bytearray) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


@contextmanager
def _using(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        remedy = f"check its permissions and the free disk space, {OR_SYNTHETIC}"
        raise DataError(f"{path} cannot be used ({failure.strerror or failure}): {remedy}.") from failure


def _read(path: Path) -> bytes:
    with _using(path):
        return path.read_bytes()


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Write files that appear only when whole; with none, see whether the folder can be used."""
    with _using(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="part-") as part:
            for name, content in files.items():
                (Path(part) / name).write_bytes(content)
                os.replace(Path(part) / name, folder / name)


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"{path} is not usable, {why}: replace it with a whole copy, {OR_SYNTHETIC}.")


def _found(folder: Path) -> list[Path]:
    """Those of the four files that are there, unpacked if possible."""
    both = [(folder / name, folder / f"{name}.gz") for name in FILES]
    return [next(filter(os.path.isfile, pair)) for pair in both if any(map(os.path.isfile, pair))]


def _fashion_mnist(fashion, raw: Path) -> tuple[str, str, list[np.ndarray]]:
    if len(_found(raw)) < len(FILES):
        raise DataError(f"Fashion-MNIST is not complete: download it, put its .gz files into {raw}, {OR_SYNTHETIC}.")
    if os.path.exists(old := raw.with_name("processed")):
        raise DataError(f"{old} is an old torchvision's, read in place of the checked files: remove it.")
    checked = {raw / name: md5 for name, md5 in fashion.resources if os.path.isfile(raw / name)}
    for packed, md5 in checked.items():
        plain, content = packed.with_suffix(""), _read(packed)
        if _md5(content) != md5:
            raise _damaged(packed, f"its MD5 is {_md5(content)} where Fashion-MNIST's is {md5}")
        # gzip ends with the CRC of what it holds: this shows unpacked files that are damaged or foreign.
        if not os.path.isfile(plain) or zlib.crc32(_read(plain)) != int.from_bytes(content[-8:-4], "little"):
            _write(raw, {plain.name: zlib.decompress(content, 31)})
    _read_four([raw / name for name in FILES])  # torchvision's reader is lax and does not name the file
    train, test = (fashion(str(raw.parent.parent), train=part, download=False) for part in (True, False))
    arrays = [t.numpy() for t in (train.data, train.targets, test.data, test.targets)]
    how = "checksums right" if len(checked) == len(FILES) else "without checksums, as there are no .gz files"
    return FASHION, f"{SOURCES[FASHION]} (Zalando Research, by torchvision, {how})", arrays


def _idx(source: str) -> tuple[str, str, list[np.ndarray]]:
    folder = Path(os.path.expanduser(source))
    found = max((_found(folder / sub) for sub in ("", "raw", "MNIST/raw", "FashionMNIST/raw")), key=len)
    if not str(source).strip() or len(found) < len(FILES):
        wanted = f"one with {', '.join(FILES)} (plain or .gz), “{FASHION}” or “{SYNTHETIC}”"
        raise DataError(f"“{source}” is no folder with IDX files, {len(found)} of 4 found: give {wanted}.")
    place, home = os.path.realpath(folder), os.path.realpath(os.path.expanduser("~"))
    name = "home" if place == home else Path(place).name  # the home folder's name is the user's
    return "idx", f"IDX files from the folder “{name}”", _read_four(found)


def _read_four(paths: Sequence[Path]) -> list[np.ndarray]:
    """Images, labels, images, labels as bytes of shape (n, 28, 28) and (n,)."""
    x, x_test = (_read_idx(paths[i], 3) for i in (0, 2))
    return [x, _read_idx(paths[1], 1, len(x)), x_test, _read_idx(paths[3], 1, len(x_test))]


def _read_idx(path: Path, dims: int, count: int | None = None) -> np.ndarray:
    """Images (``dims`` 3) or ``count`` labels (1) of one IDX file, exactly as long as its header says."""
    content = _read(path)
    if path.suffix == ".gz":
        unpacker = zlib.decompressobj(31)  # 31: gzip, with its CRC
        try:
            content = unpacker.decompress(content, MAX_BYTES)
        except zlib.error as failure:
            raise _damaged(path, f"it cannot be unpacked ({failure})") from failure
        if not unpacker.eof or unpacker.unused_data:
            raise _damaged(path, "it is cut off, too long, or has bytes behind its end")
    items, shape = int.from_bytes(content[4:8], "big"), (SIDE, SIDE)[: dims - 1]
    header = struct.pack(f">4B{dims}I", 0, 0, 8, dims, items, *shape)
    if not content.startswith(header):
        found, wanted = content[: len(header)].hex(), "28×28 images" if shape else "labels"
        raise _damaged(path, f"its header is {found or 'empty'}, not that of an IDX file of {wanted}")
    if not items or len(content) != len(header) + items * SIDE ** (dims - 1):
        raise _damaged(path, f"its length of {len(content)} bytes does not fit the {items} items of its header")
    array = np.frombuffer(content, np.uint8, offset=len(header)).reshape(items, *shape)
    if dims == 1 and (items != count or array.max() >= CLASSES):
        raise _damaged(path, f"it holds {items} labels up to {array.max()} for {count} images of classes 0 to 9")
    return array


def _synthetic() -> tuple[str, str, list[np.ndarray]]:
    """60 000 + 10 000 images as in MNIST: a pattern of the class + one of 64 that distract + noise."""
    sizes = np.cumsum((74 * 25, 70_000, 70_000, 70_000 * SIDE * SIDE))
    # Raw words, unlike numpy's distributions, are promised to stay the same in every version.
    raw = np.random.PCG64(SIDE).random_raw(sizes[-1] // 8 + 1).view(np.uint8)
    grids, y, other, noise = np.split(raw[: sizes[-1]], sizes[:-1])
    # Random 5×5 grids, interpolated to 28×28, are smooth; 95 + 95 + 63 < 256, and 96 off leaves dark ground.
    grow = np.array([np.interp(np.linspace(0, 4, SIDE), range(5), row) for row in np.eye(5)])
    smooth = np.rint(grow.T @ (grids.reshape(74, 5, 5) * (95 / 255)) @ grow).astype(np.uint8)
    x = smooth[y % CLASSES] + smooth[CLASSES:][other % 64] + (noise >> 2).reshape(-1, SIDE, SIDE)
    x, y, label = np.maximum(x, 96) - 96, y % CLASSES, f"{SOURCES[SYNTHETIC]}, made from a fixed seed"
    return SYNTHETIC, label, [x[:60_000], y[:60_000], x[60_000:], y[60_000:]]
