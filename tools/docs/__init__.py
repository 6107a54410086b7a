"""The generated part of the documentation. The rule: what the code says of itself is never written down twice."""
