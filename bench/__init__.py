"""Measurements of Drumline against references taken in the same run: machines differ, ratios can be compared."""
