"""Reads one response with a framework that builds upon OpenAI's package; prints what it reads as JSON lines."""

import asyncio
import json
import sys

order = json.loads(sys.argv[1])


def say(value):
    print(json.dumps(value), flush=True)


def langchain():
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model=order["model"],
        base_url=order["baseURL"],
        api_key=order["apiKey"],
        use_responses_api=True,
    )


def langchain_stream():
    text, end = "", None
    for chunk in langchain().stream(order["input"]):
        text += chunk.text
        say(chunk.text)
        end = chunk.response_metadata.get("status", end)
    return text, end


def langchain_invoke():
    message = langchain().invoke(order["input"])
    return message.text, message.response_metadata.get("status")


def agent():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=order["baseURL"], api_key=order["apiKey"])
    return Agent(OpenAIResponsesModel(order["model"], provider=provider))


def pydantic_ai_stream():
    async def stream():
        text = ""
        async with agent().run_stream(order["input"]) as result:
            async for piece in result.stream_text(delta=True, debounce_by=None):
                text += piece
                say(piece)
        return text, "completed"

    return asyncio.run(stream())


def pydantic_ai_run():
    return agent().run_sync(order["input"]).output, "completed"


modes = [langchain_stream, langchain_invoke, pydantic_ai_stream, pydantic_ai_run]
text, end = {mode.__name__: mode for mode in modes}[order["mode"]]()
say({"text": text, "end": end})
