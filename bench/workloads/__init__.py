"""What is measured, without a clock and without a device.

``operations`` and ``networks`` are tables of rows whose fields ``contract`` explains; ``inputs`` draws what they
compute on, ``datasets`` loads the images (``mirrors`` fetches them), ``modules`` holds networks with a forward pass of
their own, ``article`` the published figures.
"""
