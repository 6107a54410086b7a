"""Flows: the protocol a piece of work walks, as a graph of nodes. Pure: data in, decisions out."""
