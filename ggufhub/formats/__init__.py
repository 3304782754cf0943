"""What the bytes mean: readers that turn a source into a Header and judge nothing."""
