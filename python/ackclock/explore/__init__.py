"""`ackclock explore`: a page on which scenarios run and their curves grow (docs/explore.md)."""
