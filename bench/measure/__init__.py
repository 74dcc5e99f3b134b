"""How it is measured: clock, gate, sweep, training, verification, the runner, the doctor's checks."""
