"""Programs that the README runs."""
