"""What is wrong with a model: small pure functions from what was read to findings."""
