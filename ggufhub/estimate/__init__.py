"""Numbers about a model: parameters, bits per weight, type mix, memory."""
