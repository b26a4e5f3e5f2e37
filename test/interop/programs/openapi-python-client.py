import os

from flow import run
from relay_client import AuthenticatedClient, Client
from relay_client import models
from relay_client.api.accounts import create_account as create_account_call
from relay_client.api.inbox import read_inbox
from relay_client.api.keys import create_key
from relay_client.api.questions import answer_question, ask_question, list_questions
from relay_client.api.tasks import create_task, get_task, list_tasks, update_task

URL = os.environ["RELAY_URL"]


class Caller:
    def __init__(self, token):
        self.client = AuthenticatedClient(base_url=URL, token=token, timeout=60)

    def create_key(self, label):
        made = create_key.sync(client=self.client, body=models.KeyCreate(label=label))
        return made.key, made.secret

    def create_task(self, **body):
        made = models.TaskCreate.from_dict(body)
        return create_task.sync(client=self.client, body=made)

    def update_task(self, task_id, **body):
        changed = models.TaskUpdate.from_dict(body)
        return update_task.sync(task_id, client=self.client, body=changed)

    def ask(self, wait, **body):
        asked = models.QuestionCreate.from_dict(body)
        return ask_question.sync(client=self.client, body=asked, wait=wait)

    def pending(self):
        return list_questions.sync(client=self.client).questions

    def answer(self, question_id, answer):
        body = models.QuestionAnswer(answer=answer)
        return answer_question.sync(question_id, client=self.client, body=body)

    def inbox(self):
        return read_inbox.sync(client=self.client, peek=True).items

    def list(self, status):
        wanted = [models.RelayTaskStatus(one) for one in status]
        return list_tasks.sync(client=self.client, status=wanted).tasks

    def missing(self, task_id):
        answer = get_task.sync_detailed(task_id, client=self.client)
        problem = answer.parsed
        return int(answer.status_code), problem.code, problem.fields.additional_properties


def create_account():
    made = create_account_call.sync(client=Client(base_url=URL), body=models.AccountCreate())
    return made.account, made.token


run(create_account, Caller)
