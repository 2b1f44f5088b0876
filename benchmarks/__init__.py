"""Side-by-side measurements: ratios, both sides interleaved in one run."""
