"""Images for the training benchmarks: 1×28×28, ten classes, from one of three sources.

``fashion-mnist`` is read by torchvision from the data folder and downloaded only on request, ``synthetic``
is made here from a fixed seed, and anything else is taken as a folder with the four IDX files of an
MNIST-like set.  Torch and torchvision are imported inside functions: a page may import this module first.
"""

from __future__ import annotations

import errno
import gzip
import hashlib
import math
import os
import ssl
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np

from bench.home import bench_home

if TYPE_CHECKING:
    from torch import Tensor

FASHION, SYNTHETIC = "fashion-mnist", "synthetic"
SOURCES = {FASHION: "Fashion-MNIST", SYNTHETIC: "synthetic stand-in (not real images)"}
# Images and labels of the training set, then of the test set; each may also end in ".gz".
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
SUBFOLDERS = ("", "raw", "MNIST/raw", "FashionMNIST/raw")
# Bytes of Fashion-MNIST's files as downloaded (for progress, and as an upper limit) and as unpacked.
GZ_BYTES = dict(zip(FILES, (26_421_880, 29_515, 4_422_102, 5_148), strict=True))
RAW_BYTES = dict(zip(FILES, (47_040_016, 60_008, 7_840_016, 10_008), strict=True))
SYNTHETIC_COUNTS = (60_000, 10_000)  # training, test: as in MNIST
CLASSES, SIDE = 10, 28
MAX_BYTES = 1_000_000 * SIDE * SIDE  # of one IDX file; as float32 four times as much
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

    All on the CPU.  ``name`` is "fashion-mnist", "synthetic" or "idx"; ``label`` says for people what the
    images are and where from, without a full path.
    """

    name: str
    label: str
    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


def load(source: str = FASHION, *, images: int | None = None, folder: Path | None = None) -> ImageSet:
    """Load ``source``: "fashion-mnist", "synthetic", or the path of a folder with the four IDX files.

    ``images`` keeps only that many training images, the first ones; the test set stays whole.  ``folder`` is
    the data folder of Fashion-MNIST (default: ``data`` under ``bench_home()``).  Nothing is downloaded, but
    .gz files of Fashion-MNIST that were put into their folder by hand are unpacked there.

    Raises DataError when the data is missing, damaged or foreign, or ``images`` is out of range.
    """
    if source == SYNTHETIC:
        train = _synthetic(_checked(images, SYNTHETIC_COUNTS[0]), 0)
        label = f"{SOURCES[SYNTHETIC]}, made from a fixed seed"
        return _image_set(SYNTHETIC, label, [*train, *_synthetic(SYNTHETIC_COUNTS[1], 1)], images)
    return _load_fashion(folder, images) if source == FASHION else _load_idx(source, images)


def available(folder: Path | None = None) -> bool:
    """Whether Fashion-MNIST lies complete in the data folder, by a glance at sizes; ``load`` checks contents."""
    raw = _raw_folder(folder)
    expected = [((raw / f, RAW_BYTES[f]), (raw / f"{f}.gz", GZ_BYTES[f])) for f in FILES]
    return all(any(p.is_file() and p.stat().st_size == size for p, size in either) for either in expected)


def download_fashion_mnist(
    folder: Path | None = None,
    *,
    progress: Callable[[int, int], object] | None = None,
    cancelled: Callable[[], bool] | None = None,
    timeout_s: float = 20.0,
    mirrors: Sequence[str] | None = None,
) -> Path:
    """Download, check, unpack and load Fashion-MNIST (about 31 MB) once; return the folder of its files.

    Names, checksums and (unless ``mirrors`` are given) addresses are torchvision's.  Files already there with
    the right checksum are kept, others replaced.  ``progress(done_bytes, total_bytes)`` is called after each
    chunk; the total is exact once all sizes are known, and ``done`` falls back when a mirror fails midway.
    ``cancelled()`` is asked as often; a silent server delays that by at most ``timeout_s`` seconds.

    Raises Cancelled, or DataError when no mirror delivers or the folder cannot be written.
    """
    fashion, raw = _fashion_class(), _raw_folder(folder)
    total = {name: GZ_BYTES[name[:-3]] for name, _ in fashion.resources}
    done = dict.fromkeys(total, 0)

    def step(name: str, received: int, size: int) -> None:
        done[name], total[name] = received, size
        if progress is not None:
            progress(sum(done.values()), sum(total.values()))
        if cancelled is not None and cancelled():
            raise Cancelled("The download was cancelled; start it again to go on with the missing files.")

    for name, md5 in fashion.resources:
        content = _read(raw / name) if (raw / name).is_file() else b""
        if _md5(content) != md5:
            _write(raw, {})  # an unusable folder shows before megabytes are fetched
            content = _from_a_mirror(
                fashion.mirrors if mirrors is None else mirrors, name, md5, timeout_s, step, raw
            )
            _write(raw, {name: content})
        step(name, len(content), len(content))
    _load_fashion(folder, None)
    return raw


def _from_a_mirror(
    mirrors: Sequence[str],
    name: str,
    md5: str,
    timeout_s: float,
    step: Callable[[str, int, int], None],
    raw: Path,
) -> bytes:
    failures = []
    for mirror in mirrors:
        host, content, limit = urlsplit(mirror).hostname, bytearray(), GZ_BYTES[name[:-3]]
        step(name, 0, limit)
        try:
            with closing(_stream(f"{mirror.rstrip('/')}/{name}", f"{host}", timeout_s)) as stream:
                size = next(stream)
                for chunk in stream:
                    content += chunk
                    if len(content) > limit:
                        raise _MirrorError(f"{host} sent more than the {limit} bytes of {name}")
                    step(name, len(content), max(len(content), size))
            if len(content) < size:
                raise _MirrorError(f"the connection to {host} broke off after {len(content)} of {size} bytes")
            if _md5(content) != md5:
                raise _MirrorError(
                    f"{name} from {host} has a wrong checksum, it was changed or is another file"
                )
            return bytes(content)
        except _MirrorError as error:
            failures.append(str(error))
    why = "; ".join(failures) or "no mirror is known"
    by_hand = f"put its four .gz files into {raw}"
    raise DataError(f"Fashion-MNIST could not be downloaded: {why}; try again, {by_hand}, {OR_SYNTHETIC}.")


def _stream(url: str, host: str, timeout_s: float) -> Iterator:
    """Yield the announced length in bytes (0: unknown), then the chunks; failures become _MirrorError."""
    try:
        request = Request(url, headers={"User-Agent": "cpu-vs-mps"})
        context = ssl.create_default_context()  # verifies, whatever the process set as urllib's default
        with urlopen(request, timeout=timeout_s, context=context) as response:
            yield int(response.headers.get("Content-Length", 0))
            while chunk := response.read1(1 << 16):
                yield chunk
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        why = f"no connection to {host} ({reason}): check the network and the proxy"
        if isinstance(error, HTTPError):
            why = f"{host} refused the file (HTTP {error.code})"
        elif isinstance(reason, ssl.SSLCertVerificationError):
            remedy = "set SSL_CERT_FILE, or on macOS run Python's “Install Certificates.command”"
            why = f"the certificate of {host} could not be verified ({reason.verify_message}): {remedy}"
        elif isinstance(reason, TimeoutError):
            why = f"{host} did not answer within {timeout_s:g} s"
        elif isinstance(reason, (ConnectionResetError, ConnectionAbortedError, HTTPException)):
            why = f"the connection to {host} broke off ({reason})"
        raise _MirrorError(why) from error


def _raw_folder(folder: Path | None) -> Path:
    return (
        (bench_home() / "data" if folder is None else Path(folder)) / "FashionMNIST" / "raw"
    )  # torchvision's


def _fashion_class():
    try:
        from torchvision.datasets import FashionMNIST
    except (ImportError, RuntimeError, OSError) as error:  # RuntimeError: built for another torch
        why = f"torchvision cannot be imported ({error})"
        raise DataError(f"{why}: install the one that fits torch, {OR_SYNTHETIC}.") from error
    return FashionMNIST


def _md5(content: bytes | bytearray) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): allow it, {OR_SYNTHETIC}.") from error


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Write files that appear under their names only when whole; with none, try whether the folder can be used."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="part-") as part:
            for name, content in files.items():
                (Path(part) / name).write_bytes(content)
                os.replace(Path(part) / name, folder / name)
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        why = "the disk is full: free some space" if full else f"{error.strerror}: make it a writable folder"
        raise DataError(f"{folder} cannot be written, {why}, {OR_SYNTHETIC}.") from error


def _damaged(path: Path, why: str) -> DataError:
    return DataError(f"{path} is not usable, {why}: replace it with a whole copy, {OR_SYNTHETIC}.")


def _load_fashion(folder: Path | None, images: int | None) -> ImageSet:
    fashion, raw, checked = _fashion_class(), _raw_folder(folder), True
    if missing := [f for f in FILES if not ((raw / f).is_file() or (raw / f"{f}.gz").is_file())]:
        remedy = f"download it, put its four .gz files into {raw}, {OR_SYNTHETIC}"
        raise DataError(f"Fashion-MNIST is not there ({', '.join(missing)} missing): {remedy}.")
    if (old := raw.with_name("processed")).exists():
        raise DataError(
            f"{old} is an old torchvision's and would be read in place of the checked files: remove it."
        )
    for name, md5 in fashion.resources:
        packed, plain = raw / name, raw / name[:-3]
        if not packed.is_file():
            checked = False
            continue
        content = _read(packed)
        if _md5(content) != md5:
            raise _damaged(packed, f"its MD5 is {_md5(content)} where Fashion-MNIST's is {md5}")
        # gzip ends with the CRC of what it holds: this shows unpacked files that are damaged or foreign.
        if not plain.is_file() or zlib.crc32(_read(plain)) != int.from_bytes(content[-8:-4], "little"):
            _write(raw, {plain.name: gzip.decompress(content)})
    _read_four([raw / name for name in FILES])  # torchvision's reader is lax and does not name the file
    sets = [fashion(str(raw.parent.parent), train=train, download=False) for train in (True, False)]
    arrays = [tensor.numpy() for part in sets for tensor in (part.data, part.targets)]
    how = "checksums right" if checked else "unpacked files, no checksum to compare"
    return _image_set(
        FASHION, f"{SOURCES[FASHION]} (Zalando Research, by torchvision, {how})", arrays, images
    )


def _load_idx(source: str, images: int | None) -> ImageSet:
    folder = Path(os.path.expanduser(source))
    found: list[Path] = []
    for sub in SUBFOLDERS:
        both = [(folder / sub / name, folder / sub / f"{name}.gz") for name in FILES]
        found = max(
            found,
            [next(filter(os.path.isfile, each)) for each in both if any(map(os.path.isfile, each))],
            key=len,
        )
    if not str(source).strip() or len(found) < len(FILES):
        wanted = f"give a folder with {', '.join(FILES)} (plain or .gz), “{FASHION}” or “{SYNTHETIC}”"
        what = f"holds {len(found)} of the four IDX files" if folder.is_dir() else "is not a folder"
        raise DataError(f"“{source}” {what}: {wanted}.")
    place, home = os.path.realpath(folder), os.path.realpath(os.path.expanduser("~"))
    name = "home" if place == home else Path(place).name  # the home folder's name is the user's
    return _image_set("idx", f"IDX files from the folder “{name}”", _read_four(found), images)


def _read_four(paths: Sequence[Path]) -> list[np.ndarray]:
    """Read images, labels, images, labels, of shape (n, 28, 28) and (n,), bytes; strict."""
    arrays = [_read_idx(path, dims) for path, dims in zip(paths, (3, 1, 3, 1), strict=True)]
    for i in (0, 2):
        x, y = arrays[i : i + 2]
        if x.shape[1:] != (SIDE, SIDE) or not len(x):
            raise _damaged(
                paths[i], f"it holds {len(x)} images of {x.shape[1]}×{x.shape[2]} in place of 28×28"
            )
        if len(y) != len(x):
            raise _damaged(paths[i + 1], f"it holds {len(y)} labels for {len(x)} images")
        if y.max() >= CLASSES:
            raise _damaged(
                paths[i + 1], f"it holds the label {y.max()} where only 0 to {CLASSES - 1} are possible"
            )
    return arrays


def _read_idx(path: Path, dims: int) -> np.ndarray:
    """One IDX file of bytes: right magic number, and exactly as long as its dimensions say."""
    start = 4 + 4 * dims
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            header = file.read(start)
            if len(header) < start or header[:4] != bytes((0, 0, 8, dims)):
                raise _damaged(path, f"it does not start like an IDX file of bytes with {dims} dimension(s)")
            shape = struct.unpack_from(f">{dims}I", header, 4)
            size = math.prod(shape)
            # Looked at before memory is reserved; deflate packs 1032 to 1 at most.
            if size > min(MAX_BYTES, 1032 * path.stat().st_size):
                raise _damaged(path, f"its header announces {size} bytes, more than it can hold")
            body = file.read(size + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, f"it cannot be unpacked ({error})") from error
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): allow it, {OR_SYNTHETIC}.") from error
    if len(body) != size:
        raise _damaged(
            path, f"{'more' if len(body) > size else 'fewer'} bytes follow than the {size} its header says"
        )
    return np.frombuffer(body, np.uint8).reshape(shape)


def _synthetic(count: int, split: int) -> tuple[np.ndarray, np.ndarray]:
    """The first ``count`` images and labels: class pattern + one of 64 distracting patterns + noise."""

    def raw(length: int, *key: int) -> np.ndarray:
        # Raw words, unlike numpy's distributions, are promised to stay the same in every version.
        return np.random.PCG64([SIDE, *key]).random_raw(-(-length // 8)).view(np.uint8)[:length]

    # Random 5×5 grids, interpolated to 28×28, are smooth; 95 + 95 + 63 stays below 256.
    grow = np.array([np.interp(np.linspace(0, 4, SIDE), range(5), row) for row in np.eye(5)])
    grids = raw(74 * 25, 2).reshape(74, 5, 5) * (95 / 255)
    smooth = np.rint(grow.T @ grids @ grow).astype(np.uint8)
    y = raw(count, split, 0) % CLASSES
    x = smooth[:CLASSES][y] + smooth[CLASSES:][raw(count, split, 1) % 64]
    x += (raw(count * SIDE * SIDE, split, 2) >> 2).reshape(x.shape)
    return x, y


def _checked(images: int | None, there: int) -> int:
    if images is not None and (type(images) is not int or not 1 <= images <= there):
        raise DataError(f"{images} training images were asked for: choose a whole number from 1 to {there}.")
    return there if images is None else images


def _image_set(name: str, label: str, arrays: Sequence[np.ndarray], images: int | None) -> ImageSet:
    import torch

    train_x, train_y, test_x, test_y = arrays
    count = _checked(images, len(train_x))

    def tensors(x: np.ndarray, y: np.ndarray) -> tuple[Tensor, Tensor]:
        pixels = np.divide(x, np.float32(255), dtype=np.float32)
        return torch.from_numpy(pixels).unsqueeze(1), torch.from_numpy(y.astype(np.int64))

    train = tensors(train_x[:count], train_y[:count])
    return ImageSet(name, label, *train, *tensors(test_x, test_y))
