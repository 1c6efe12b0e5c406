"""What all agents here share: three conversations, and a tool that knows one city."""

PROMPTS = ["What is the weather in Paris and in Atlantis?", "Please greet me.", "Please refuse this."]


def weather_of(city: str) -> str:
    if city == "Atlantis":
        raise ValueError(f"no such city: {city}")
    return f"sunny in {city}"
