"""A chat of classic AutoGen with a scripted model client."""

import json
from typing import Any

from _tools import look, remove
from autogen import ConversableAgent, register_function
from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionMessageToolCall
from openai.types.chat.chat_completion import Choice
from openai.types.chat.chat_completion_message_tool_call import Function

import agentlens

agentlens.init()


def use(call_id: str, name: str, **args: str) -> ChatCompletionMessage:
    call = ChatCompletionMessageToolCall(
        id=call_id, type="function", function=Function(name=name, arguments=json.dumps(args))
    )
    return ChatCompletionMessage(role="assistant", content="", tool_calls=[call])


SCRIPT = iter(
    [
        use("1", "look", topic="tea"),
        use("2", "remove", path="/data/tea.txt"),
        ChatCompletionMessage(role="assistant", content="Done."),
    ]
)


class ScriptedClient:
    def __init__(self, config: Any, **kwargs: Any) -> None:
        pass

    def create(self, params: Any) -> ChatCompletion:
        choice = Choice(finish_reason="stop", index=0, message=next(SCRIPT))
        return ChatCompletion(id="x", created=0, model="scripted", object="chat.completion", choices=[choice])

    def message_retrieval(self, response: ChatCompletion) -> list[Any]:
        message = response.choices[0].message
        return [message] if message.tool_calls else [message.content]

    def cost(self, response: Any) -> float:
        return 0

    @staticmethod
    def get_usage(response: Any) -> dict[str, Any]:
        return {}


config = {"config_list": [{"model": "scripted", "model_client_cls": "ScriptedClient"}], "cache_seed": None}
helper = ConversableAgent("helper", llm_config=config, human_input_mode="NEVER")
user = ConversableAgent(
    "user",
    llm_config=False,
    human_input_mode="NEVER",
    is_termination_msg=lambda message: message.get("content") == "Done.",
)
for tool in (look, remove):
    register_function(tool, caller=helper, executor=user, name=tool.__name__, description=str(tool.__doc__))
helper.register_model_client(model_client_cls=ScriptedClient)
for message in user.initiate_chat(helper, message="Tidy up.", max_turns=6, silent=True).chat_history:
    print(message["role"], message["content"])
