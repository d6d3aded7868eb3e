"""A real cluster under a simulated policy: ports to the outside, the loop, its guard and memory."""
