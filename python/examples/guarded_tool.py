"""
An agent without a framework and without a model.

    AGENTLENS_URL=http://127.0.0.1:3400 AGENTLENS_API_KEY=agk_... python python/examples/guarded_tool.py
"""

import agentlens

agentlens.init(agent_id="example-plain")


@agentlens.guarded_tool
def look(topic: str) -> str:
    print("the tool look runs")
    return f"{topic} is fine"


@agentlens.guarded_tool
def remove(path: str) -> str:
    print("the tool remove runs")
    return f"removed {path}"


with agentlens.run():
    print(look("tea"))
    print(remove("/data/tea.txt"))
agentlens.shutdown()
