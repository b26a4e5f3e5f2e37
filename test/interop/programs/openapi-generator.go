// The main flow over the Go client of openapi-generator; prints a report as one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	relay "interop/api"
)

func must[T any](value T, _ any, err error) T {
	if err != nil {
		var failed *relay.GenericOpenAPIError
		if errors.As(err, &failed) {
			panic(string(failed.Body()))
		}
		panic(err)
	}
	return value
}

type object = map[string]any

func main() {
	configuration := relay.NewConfiguration()
	configuration.Servers = relay.ServerConfigurations{{URL: os.Getenv("RELAY_URL")}}
	api := relay.NewAPIClient(configuration)
	as := func(token string) context.Context {
		return context.WithValue(context.Background(), relay.ContextAccessToken, token)
	}
	account := must(api.AccountsAPI.CreateAccount(context.Background()).AccountCreate(relay.AccountCreate{}).Execute())
	person := as(account.Token)
	key := must(api.KeysAPI.CreateKey(person).KeyCreate(*relay.NewKeyCreate("interop")).Execute())
	agent := as(key.Secret)
	create := func(who context.Context, body relay.TaskCreate) *relay.RelayTask {
		return must(api.TasksAPI.CreateTask(who).TaskCreate(body).Execute())
	}
	made := create(agent, *relay.NewTaskCreate("Interop"))
	change := relay.NewTaskUpdate()
	change.SetProgress(50)
	change.SetStatus(relay.RelayTaskStatus("in_progress"))
	task := must(api.TasksAPI.UpdateTask(agent, made.Id).TaskUpdate(*change).Execute())
	done := relay.NewTaskCreate("Done")
	done.SetStatus(relay.RelayTaskStatus("done"))
	create(agent, *done)
	of_person := relay.NewTaskCreate("From the person")
	of_person.SetKeyId(key.Key.Id)
	create(person, *of_person)

	asked := make(chan *relay.Question, 1)
	go func() {
		body := relay.NewQuestionCreate("Which?")
		body.SetKind(relay.QuestionKind("choice"))
		body.SetOptions([]string{"a", "b"})
		body.SetTaskId(task.Id)
		asked <- must(api.QuestionsAPI.AskQuestion(agent).QuestionCreate(*body).Wait(20).Execute())
	}()
	for i := 0; i < 100; i++ {
		pending := must(api.QuestionsAPI.ListQuestions(person).Execute()).Questions
		if len(pending) > 0 {
			answer := *relay.NewQuestionAnswer("b")
			must(api.QuestionsAPI.AnswerQuestion(person, pending[0].Id).QuestionAnswer(answer).Execute())
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	question := <-asked

	items := []object{}
	for _, item := range must(api.InboxAPI.ReadInbox(agent).Peek(true).Execute()).Items {
		var updated_at *float64
		if of_item := item.Task.Get(); of_item != nil {
			updated_at = &of_item.UpdatedAt
		}
		items = append(items, object{"id": item.Id, "type": item.Type, "from": item.From.Kind,
			"created_at": item.CreatedAt, "task_updated_at": updated_at})
	}
	open := []string{}
	filter := []relay.RelayTaskStatus{"todo", "in_progress"}
	for _, one := range must(api.TasksAPI.ListTasks(agent).Status(filter).Execute()).Tasks {
		open = append(open, one.Id)
	}
	_, response, err := api.TasksAPI.GetTask(agent, "tsk_none").Execute()
	var failed *relay.GenericOpenAPIError
	if !errors.As(err, &failed) {
		panic(err)
	}
	problem := failed.Model().(relay.Problem)
	fields := []string{}
	for name := range problem.GetFields() {
		fields = append(fields, name)
	}
	report := object{
		"token":   account.Token,
		"account": object{"id": account.Account.Id, "created_at": account.Account.CreatedAt},
		"key":     object{"id": key.Key.Id, "created_at": key.Key.CreatedAt},
		"task": object{"id": task.Id, "created_at": task.CreatedAt, "updated_at": task.UpdatedAt,
			"seen_at": task.SeenAt.Get(), "completed_at": task.CompletedAt.Get(),
			"progress": task.Progress.Get(), "status": task.Status},
		"question": object{"id": question.Id, "status": question.Status, "answer": question.Answer.Get(),
			"created_at": question.CreatedAt, "answered_at": question.AnsweredAt.Get(),
			"expires_at": question.ExpiresAt},
		"items":  items,
		"open":   open,
		"error":  object{"status": response.StatusCode, "code": problem.Code, "field": strings.Join(fields, ",")},
		"events": nil,
	}
	text, err := json.Marshal(report)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(text, '\n'))
}
