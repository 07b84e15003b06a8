class QueueHelper:  # want(names) want(names)
    """Its file is wrongly named too."""
