"""The scorecard of an algorithm: `ackclock evaluate`."""
