"""Devices, memory, energy: what is here and what is not."""

MACHINE = {
    "no_usable_device": "No {what} that this PyTorch ({version}) can use.",
    "not_a_mac": "MPS needs a Mac with Apple Silicon; this is {system}.",
    "intel_python_under_rosetta": (
        "This Python is an Intel build run by Rosetta and cannot reach the GPU: install an "
        "arm64 Python and make the virtual environment again with it."
    ),
    "not_apple_silicon": "MPS needs Apple Silicon; PyTorch no longer supports Intel Macs.",
    "built_without_mps": ("This PyTorch ({version}) was built without MPS: install it again with pip."),
    "macos_too_old": "MPS needs macOS 14 or newer for this PyTorch; this is macOS {version}.",
    "published_for_chip": "published for the {chip}",
    "twice_measured_copy": "twice the copy measured here",
    "copy_measured_here": "copy measured here",
    "named_operator": "The operator {name}",
    "some_operator": "An operator",
    "ran_on_cpu": "{what}, which the device lacks, ran on the CPU instead.",
    "energy_of_apple_chip": "CPU, GPU and memory of the chip",
    "energy_of_gpu_board": "the GPU's board",
    "emulated_energy": "An emulated device uses no energy of its own.",
    "no_energy_counter": "No package reads this processor's energy here without special rights.",
    "install_to_see": "Install {package} to see it: pip install {package}",
    "driver_does_not_tell": "The driver does not tell: {error}",
    "roof_measured": "{label}: copy measured here",
    "roof_published": "published: {chip}",
    "no_sum": "1 + 1 is no longer 2 on it",
    "threads_refused": "PyTorch did not take {number} threads, it uses {used}.",
}
