"""Use cases: what a person can ask for, one function each, on ports. They neither print nor exit."""
