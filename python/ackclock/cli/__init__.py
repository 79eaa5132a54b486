"""The command `ackclock`."""
