"""What context policies did to the cost of published runs, held against what recordings of another agent say."""
