"""Runtime: wires devices, tasks, environments and policies, and runs them."""
