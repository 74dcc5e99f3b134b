"""What the doctor and its checks of a device find."""

DOCTOR = {}
