"""The pages of figures and of their claims, and the site that they are."""
