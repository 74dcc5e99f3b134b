"""What is known of a run, as values: cases, machine, measurements, and the reasons that come with them."""
