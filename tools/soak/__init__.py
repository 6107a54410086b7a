"""A soak: real runs under random faults for as long as you like, and an oracle that looks at what is left of them."""
