"""Other engines on the same chain of nodes, each in a process of its own with its own packages; none is imported here.

Each is used as its documentation recommends for the durability that ours has, and says what that was.
"""
