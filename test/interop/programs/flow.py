"""The main flow over a generated client in Python; prints a report as one line of JSON."""

import json
import threading
import time


def run(create_account, as_):
    """`as_` gives the calls of whoever holds a token; see `openapi-generator.py` for their names."""
    account, token = create_account()
    person = as_(token)
    key, secret = person.create_key("interop")
    agent = as_(secret)
    made = agent.create_task(title="Interop")
    task = agent.update_task(made.id, progress=50, status="in_progress")
    agent.create_task(title="Done", status="done")
    person.create_task(title="From the person", key_id=key.id)

    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(
            agent.ask(20, prompt="Which?", kind="choice", options=["a", "b"], task_id=task.id)
        )
    )
    asking.start()
    for _ in range(100):
        pending = person.pending()
        if pending:
            person.answer(pending[0].id, "b")
            break
        time.sleep(0.05)
    asking.join()
    question = answers[0]
    status, code, fields = agent.missing("tsk_none")

    def text(value):
        return getattr(value, "value", value)

    def member(resource, name):
        # Generators rename what is a word or a builtin of Python, each in its own way.
        for renamed in (name, f"{name}_", f"var_{name}"):
            if hasattr(resource, renamed):
                return text(getattr(resource, renamed))
        raise AttributeError(name)

    def some(resource, *names):
        return {name: member(resource, name) for name in names}

    report = {
        "token": token,
        "account": some(account, "id", "created_at"),
        "key": some(key, "id", "created_at"),
        "task": some(
            task,
            *["id", "created_at", "updated_at", "seen_at", "completed_at", "progress", "status"],
        ),
        "question": some(
            question, "id", "status", "answer", "created_at", "answered_at", "expires_at"
        ),
        "items": [
            {
                **some(item, "id", "type", "created_at"),
                "from": text(member(item, "from").kind),
                "task_updated_at": item.task.updated_at if item.task else None,
            }
            for item in agent.inbox()
        ],
        "open": [one.id for one in agent.list(["todo", "in_progress"])],
        "error": {"status": status, "code": text(code), "field": ",".join(fields)},
        "events": None,
    }
    print(json.dumps(report))
