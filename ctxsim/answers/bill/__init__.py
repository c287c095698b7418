"""The bill: what fills the requests, and what would have made them smaller."""
