"""Models of torch, perturbed at their embeddings."""
