"""Two tools, as an agent of any framework has them."""


def look(topic: str) -> str:
    """Looks something up."""
    print("the tool look runs")
    return f"{topic} is fine"


def remove(path: str) -> str:
    """Removes a file."""
    print("the tool remove runs")
    return f"removed {path}"
