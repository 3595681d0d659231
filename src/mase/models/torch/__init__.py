"""Models of torch."""
