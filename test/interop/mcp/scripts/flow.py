"""What every MCP client in Python does; prints what came of it as one line of JSON.

A client is `tools()`, which gives the names of the tools, and `call(name, arguments)`, which gives
`(text, data)` of a result: its texts joined, and its structured content or None. A task of `call` that
is cancelled must end the call as the client's own users would.
"""

import asyncio
import json
import os
import time
import urllib.request

URL = os.environ["RELAY_URL"]
HEADERS = {"Authorization": f"Bearer {os.environ['RELAY_KEY']}"}


def questions():
    """What the person sees as pending: a question that the agent has listed would not be joined."""
    headers = {"Authorization": f"Bearer {os.environ['RELAY_ACCOUNT']}"}
    request = urllib.request.Request(URL.removesuffix("/mcp") + "/v1/questions", headers=headers)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["questions"]


async def flow(tools, call):
    async def data(name, arguments):
        text, found = await call(name, arguments)
        return found if found is not None else json.JSONDecoder().raw_decode(text)[0]

    async def pending():
        began = time.monotonic()
        found = await data("ask_question", {"prompt": "Leave me", "wait_seconds": 1})
        return {"status": found["status"], "seconds": time.monotonic() - began}

    async def cancel():
        ask = {"prompt": "Cancel me", "wait_seconds": 30}
        first = asyncio.ensure_future(call("ask_question", ask))
        while not any(one["prompt"] == ask["prompt"] for one in await asyncio.to_thread(questions)):
            await asyncio.sleep(0.05)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        # The server has yet to hear of it.
        await asyncio.sleep(0.5)
        return {"status": (await data("ask_question", {**ask, "wait_seconds": 1}))["status"]}

    async def error():
        try:
            text, _ = await call("get_task", {"task_id": "tsk_none"})
            return {"text": text}
        except Exception as thrown:
            return {"text": str(thrown)}

    async def called():
        made = await data("create_task", {"title": "Try", "notify": False})
        [task] = (await data("list_tasks", {"status": ["todo"], "limit": 1}))["tasks"]
        return {"same": task["id"] == made["id"], "title": task["title"]}

    async def listed():
        return {"tools": len(await tools())}

    steps = {
        "list": listed,
        "call": called,
        "ask": lambda: data("ask_question", {"prompt": "Answer me", "wait_seconds": 30}),
        "pending": pending,
        "cancel": cancel,
        "error": error,
    }
    outcome = {}
    for name, step in steps.items():
        try:
            outcome[name] = await asyncio.wait_for(step(), 60)
        except Exception as thrown:
            outcome[name] = {"fault": f"{type(thrown).__name__}: {thrown}"[:300]}
    print("\n" + json.dumps(outcome), flush=True)


def texts(content):
    return "\n".join(part.text for part in content if part.type == "text")
