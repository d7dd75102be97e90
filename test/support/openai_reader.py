"""Reads one response with OpenAI's own package, default options; prints what it reads as JSON lines."""

import json
import sys

from openai import OpenAI

order = json.loads(sys.argv[1])
client = OpenAI(base_url=order["baseURL"], api_key=order["apiKey"])
asked = {"model": order["model"], "input": order["input"]}


def say(value):
    print(json.dumps(value), flush=True)


def raw():
    text, end = "", None
    for event in client.responses.create(**asked, stream=True):
        if event.type == "response.output_text.delta":
            text += event.delta
            say(event.delta)
        if event.type == "response.completed":
            end = event.response.status
    return text, end


def resumed():
    text, response_id, after = "", None, -1
    with client.responses.stream(**asked) as stream:
        for event in stream:
            if event.type == "response.created":
                response_id = event.response.id
            after = event.sequence_number
            if event.type == "response.output_text.delta":
                text += event.delta
                say(event.delta)
                if len(text) > 120:
                    break
    with client.responses.stream(response_id=response_id, starting_after=after) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                text += event.delta
                say(event.delta)
        response = stream.get_final_response()
    assert response.output_text == text, (response.output_text, text)
    return text, response.status


def whole():
    response = client.responses.create(**asked)
    return response.output_text, response.status


text, end = {"raw": raw, "resumed": resumed, "json": whole}[order["mode"]]()
say({"text": text, "end": end})
