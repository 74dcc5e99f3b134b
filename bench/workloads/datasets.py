"""Images for the training benchmarks, 1×28×28 in ten classes: Fashion-MNIST, a synthetic set, or IDX files.

A new set is a function that reads it and a row of ``SOURCES``. Torch and torchvision are imported
inside functions, as a page imports this module before they may be loaded.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from bench.machine.home import bench_home
from bench.records.reason import Reason, Refused, because, reason_of
from bench.workloads.mirrors import MirrorError, fetch, md5_of

if TYPE_CHECKING:
    from torch import Tensor
    from torchvision.datasets import FashionMNIST

FASHION, SYNTHETIC = "fashion-mnist", "synthetic"
FILES = {  # any MNIST-like set's names, with the bytes of Fashion-MNIST's files as downloaded and unpacked
    "train-images-idx3-ubyte": (26_421_880, 47_040_016),
    "train-labels-idx1-ubyte": (29_515, 60_008),
    "t10k-images-idx3-ubyte": (4_422_102, 7_840_016),
    "t10k-labels-idx1-ubyte": (5_148, 10_008),
}
CLASSES, SIDE, MAX_BYTES = 10, 28, 784_000_016  # the last of one .gz file unpacked: a million images

Labelled = tuple[str, list[np.ndarray]]  # what and from where, for people; training and test images and classes


class DataError(Refused):
    """Images that can't be had: what is wrong, and what to do."""


class Cancelled(DataError):
    """The download was stopped because ``cancelled()`` said so."""


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

    @property
    def labels(self) -> dict[str, float]:
        """How many classes the training images are of, and the share of the largest: plain values, for settings."""
        numbers = np.bincount(self.train_y.numpy(), minlength=CLASSES)
        return {"classes": int((numbers > 0).sum()), "largest": float(numbers.max() / max(1, numbers.sum()))}


def load(source: str = FASHION, *, images: int | None = None, folder: Path | None = None) -> ImageSet:
    """Load "fashion-mnist", "synthetic", or the folder with the four IDX files whose path ``source`` is.

    ``images`` keeps only the first so many training images; the test set stays whole.  ``folder`` is the data
    folder of Fashion-MNIST (default: ``data`` under ``bench_home()``).  Nothing is downloaded; .gz files put
    there by hand are unpacked.  Raises DataError: data missing, damaged or foreign, ``images`` out of range.
    """
    read = SOURCES.get(source)
    name = source if read else "idx"
    label, arrays = read(folder) if read else _idx(source)
    import torch

    train_x, train_y, test_x, test_y = arrays
    count, most = len(train_x) if images is None else images, len(train_x)
    if type(count) is not int or not 1 <= count <= most:
        raise DataError("too_many_images", images=str(images), most=most)
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
            raise Cancelled("download_cancelled")

    for name, md5 in fashion.resources:
        content = _read(raw / name) if os.path.isfile(raw / name) else b""
        if md5_of(content) != md5:
            _write(raw, {})  # an unusable folder shows before megabytes are fetched
            try:
                content = fetch(name, md5, FILES[name[:-3]][0], mirrors or fashion.mirrors, timeout_s, step)
            except MirrorError as failure:
                raise DataError("download_failed", why=failure.reason, folder=str(raw)) from failure
            _write(raw, {name: content})
        step(name, len(content), len(content))
    _checked(fashion, raw)
    return raw


def _raw_folder(folder: Path | None) -> Path:
    return (bench_home() / "data" if folder is None else Path(folder)) / "FashionMNIST" / "raw"


def _fashion_class() -> type[FashionMNIST]:
    try:
        from torchvision.datasets import FashionMNIST
    except (ImportError, RuntimeError, OSError) as failure:  # RuntimeError: built for another torch
        raise DataError("no_torchvision", failure=reason_of(failure)) from failure
    return FashionMNIST


@contextmanager
def _using(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as failure:
        raise DataError("unusable_path", path=str(path), failure=failure.strerror or str(failure)) from failure


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


def _damaged(path: Path, why: Reason) -> DataError:
    return DataError("unusable_file", path=str(path), why=why)


def _found(folder: Path) -> list[Path]:
    """Those of the four files that are there, unpacked if possible."""
    both = [(folder / name, folder / f"{name}.gz") for name in FILES]
    return [next(filter(os.path.isfile, pair)) for pair in both if any(map(os.path.isfile, pair))]


def _fashion_mnist(folder: Path | None) -> Labelled:
    return _checked(_fashion_class(), _raw_folder(folder))


def _checked(fashion: type[FashionMNIST], raw: Path) -> Labelled:
    """Fashion-MNIST from the folder of its files, if they are those that torchvision knows the checksums of."""
    if len(_found(raw)) < len(FILES):
        raise DataError("fashion_incomplete", folder=str(raw))
    if os.path.exists(old := raw.with_name("processed")):
        raise DataError("old_torchvision_data", old=str(old))
    checked = {raw / name: md5 for name, md5 in fashion.resources if os.path.isfile(raw / name)}
    for packed, md5 in checked.items():
        plain, content = packed.with_suffix(""), _read(packed)
        if md5_of(content) != md5:
            raise _damaged(packed, because("foreign_md5", md5=md5_of(content), right=md5))
        # gzip ends with the CRC of what it holds: this shows unpacked files that are damaged or foreign.
        if not os.path.isfile(plain) or zlib.crc32(_read(plain)) != int.from_bytes(content[-8:-4], "little"):
            _write(raw, {plain.name: zlib.decompress(content, 31)})
    _read_four([raw / name for name in FILES])  # torchvision's reader is lax and does not name the file
    train, test = (fashion(str(raw.parent.parent), train=part, download=False) for part in (True, False))
    arrays = [t.numpy() for t in (train.data, train.targets, test.data, test.targets)]
    how = "checksums right" if len(checked) == len(FILES) else "without checksums, as there are no .gz files"
    return f"Fashion-MNIST (Zalando Research, by torchvision, {how})", arrays


def _idx(source: str) -> Labelled:
    folder = Path(os.path.expanduser(source))
    found = max((_found(folder / sub) for sub in ("", "raw", "MNIST/raw", "FashionMNIST/raw")), key=len)
    if not str(source).strip() or len(found) < len(FILES):
        raise DataError("no_idx_folder", source=str(source), found=len(found), files=tuple(FILES))
    place, home = os.path.realpath(folder), os.path.realpath(os.path.expanduser("~"))
    name = "home" if place == home else Path(place).name  # the home folder's name is the user's
    return f"IDX files from the folder “{name}”", _read_four(found)


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
            raise _damaged(path, because("cannot_unpack", failure=reason_of(failure))) from failure
        if not unpacker.eof or unpacker.unused_data:
            raise _damaged(path, because("cut_off"))
    items, shape = int.from_bytes(content[4:8], "big"), (SIDE, SIDE)[: dims - 1]
    header = struct.pack(f">4B{dims}I", 0, 0, 8, dims, items, *shape)
    if not content.startswith(header):
        found = content[: len(header)].hex() or because("empty")
        wanted = because("images_of_28") if shape else because("labels")
        raise _damaged(path, because("foreign_header", found=found, wanted=wanted))
    if not items or len(content) != len(header) + items * SIDE ** (dims - 1):
        raise _damaged(path, because("wrong_length", length=len(content), items=items))
    array = np.frombuffer(content, np.uint8, offset=len(header)).reshape(items, *shape)
    if dims == 1 and (items != count or array.max() >= CLASSES):
        why = because("labels_do_not_fit", items=items, most=int(array.max()), count=count or 0)
        raise _damaged(path, why)
    return array


def _synthetic(_: Path | None) -> Labelled:
    """60 000 + 10 000 images as in MNIST: a pattern of the class + one of 64 that distract + noise."""
    sizes = np.cumsum((74 * 25, 70_000, 70_000, 70_000 * SIDE * SIDE))
    # Raw words, unlike numpy's distributions, are promised to stay the same in every version.
    raw = np.random.PCG64(SIDE).random_raw(sizes[-1] // 8 + 1).view(np.uint8)
    grids, y, other, noise = np.split(raw[: sizes[-1]], sizes[:-1])
    # Random 5×5 grids, interpolated to 28×28, are smooth; 95 + 95 + 63 < 256, and 96 off leaves dark ground.
    grow = np.array([np.interp(np.linspace(0, 4, SIDE), range(5), row) for row in np.eye(5)])
    smooth = np.rint(grow.T @ (grids.reshape(74, 5, 5) * (95 / 255)) @ grow).astype(np.uint8)
    x = smooth[y % CLASSES] + smooth[CLASSES:][other % 64] + (noise >> 2).reshape(-1, SIDE, SIDE)
    x, y = np.maximum(x, 96) - 96, y % CLASSES
    label = "synthetic stand-in (not real images), made from a fixed seed"
    return label, [x[:60_000], y[:60_000], x[60_000:], y[60_000:]]


# By name: what reads a set, from the data folder if it lies there. Any other name is a folder of IDX files.
SOURCES: Mapping[str, Callable[[Path | None], Labelled]] = {FASHION: _fashion_mnist, SYNTHETIC: _synthetic}
