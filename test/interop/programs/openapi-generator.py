import json
import os

import openapi_client as api
from flow import run


class Caller:
    def __init__(self, token):
        configuration = api.Configuration(host=os.environ["RELAY_URL"], access_token=token)
        client = api.ApiClient(configuration)
        self.keys = api.KeysApi(client)
        self.tasks = api.TasksApi(client)
        self.questions = api.QuestionsApi(client)
        self.reader = api.InboxApi(client)

    def create_key(self, label):
        made = self.keys.create_key(api.KeyCreate(label=label))
        return made.key, made.secret

    def create_task(self, **body):
        return self.tasks.create_task(api.TaskCreate(**body))

    def update_task(self, task_id, **body):
        return self.tasks.update_task(task_id, api.TaskUpdate(**body))

    def ask(self, wait, **body):
        return self.questions.ask_question(api.QuestionCreate(**body), wait=wait)

    def pending(self):
        return self.questions.list_questions().questions

    def answer(self, question_id, answer):
        return self.questions.answer_question(question_id, api.QuestionAnswer(answer=answer))

    def inbox(self):
        return self.reader.read_inbox(peek=True).items

    def list(self, status):
        wanted = [api.RelayTaskStatus(one) for one in status]
        return self.tasks.list_tasks(status=wanted).tasks

    def missing(self, task_id):
        try:
            self.tasks.get_task(task_id)
        except api.exceptions.NotFoundException as error:
            problem = error.data or api.Problem.from_dict(json.loads(error.body))
            return error.status, problem.code, problem.fields


def create_account():
    client = api.ApiClient(api.Configuration(host=os.environ["RELAY_URL"]))
    made = api.AccountsApi(client).create_account(api.AccountCreate())
    return made.account, made.token


run(create_account, Caller)
