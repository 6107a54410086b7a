"""JSON Schemas: those that Drumline ships for editors, and the judge of values by any of them."""
