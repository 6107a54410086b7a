"""Shipped fakes: every port without disk, git or processes. Each passes the contract suite of the real thing."""
