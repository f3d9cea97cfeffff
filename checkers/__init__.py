"""Static rules over candidates, and the report they make."""
