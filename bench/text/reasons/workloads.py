"""Images, and fetching them."""

WORKLOADS = {
    "too_many_images": ("{images} training images were asked for: choose a whole number from 1 to {most}."),
    "download_cancelled": ("The download was cancelled; start it again to go on with the missing files."),
    "download_failed": (
        "Fashion-MNIST could not be downloaded: {why}; try again, put its four .gz files into "
        "{folder}, or choose “synthetic”."
    ),
    "no_torchvision": ("torchvision cannot be loaded ({failure}): reinstall it, or choose “synthetic”."),
    "unusable_path": (
        "{path} cannot be used ({failure}): check its permissions and the free disk space, or choose “synthetic”."
    ),
    "unusable_file": ("{path} is not usable, {why}: replace it with a whole copy, or choose “synthetic”."),
    "fashion_incomplete": (
        "Fashion-MNIST is not complete: download it, put its .gz files into {folder}, or choose “synthetic”."
    ),
    "old_torchvision_data": ("{old} is an old torchvision's, read in place of the checked files: remove it."),
    "foreign_md5": "its MD5 is {md5} where Fashion-MNIST's is {right}",
    "no_idx_folder": (
        "“{source}” is no folder with IDX files, {found} of 4 found: give one with {files} "
        "(plain or .gz), “fashion-mnist” or “synthetic”."
    ),
    "cannot_unpack": "it cannot be unpacked ({failure})",
    "cut_off": "it is cut off, too long, or has bytes behind its end",
    "empty": "empty",
    "images_of_28": "28×28 images",
    "labels": "labels",
    "foreign_header": "its header is {found}, not that of an IDX file of {wanted}",
    "wrong_length": "its length of {length} bytes does not fit the {items} items of its header",
    "labels_do_not_fit": ("it holds {items} labels up to {most} for {count} images of classes 0 to 9"),
    "wrong_checksum": "{name} has a wrong checksum at {host}",
    "connection_broke_off": "the connection to {host} broke off after {received} of {size} bytes",
    "file_refused": "{host} refused the file (HTTP {code})",
    "unverified_certificate": (
        "the certificate of {host} could not be verified ({message}): set SSL_CERT_FILE, or on "
        "macOS run Python's “Install Certificates.command”"
    ),
    "no_answer": "{host} did not answer within {time}",
    "connection_failed": ("the connection to {host} failed ({reason}), check the network and the proxy"),
}
