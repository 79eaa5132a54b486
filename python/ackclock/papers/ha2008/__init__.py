"""Ha, Rhee and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", 2008."""

TITLE = "CUBIC: A New TCP-Friendly High-Speed TCP Variant (Ha, Rhee and Xu)"
