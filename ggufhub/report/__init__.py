"""One versioned document about one model: what it is, what is in it, what is wrong with it."""
