"""What context policies did to the cost of published runs, against predictions from recordings of another agent."""
