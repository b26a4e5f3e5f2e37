// The main flow over the client of oapi-codegen; prints a report as one line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"time"

	"interop/relay"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func given[T any](value *T, status string, body []byte) *T {
	if value == nil {
		panic(status + " " + string(body))
	}
	return value
}

func as(token string) relay.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

func ptr[T any](value T) *T { return &value }

type object = map[string]any

func main() {
	ctx := context.Background()
	api := must(relay.NewClientWithResponses(os.Getenv("RELAY_URL")))
	opened := must(api.CreateAccountWithResponse(ctx, relay.AccountCreate{}))
	person := given(opened.JSON201, opened.Status(), opened.Body)
	mine := as(person.Token)

	names := make(chan string, 16)
	first := make(chan relay.RelayTask, 1)
	go readEvents(ctx, mine, names, first)
	seen := []string{<-names}

	key_made := must(api.CreateKeyWithResponse(ctx, relay.KeyCreate{Label: "interop"}, mine))
	key := given(key_made.JSON201, key_made.Status(), key_made.Body)
	agent := as(key.Secret)
	create := func(body relay.TaskCreate, who relay.RequestEditorFn) relay.RelayTask {
		made := must(api.CreateTaskWithResponse(ctx, nil, body, who))
		return *given(made.JSON201, made.Status(), made.Body)
	}
	made := create(relay.TaskCreate{Title: "Interop"}, agent)
	status := relay.RelayTaskStatus("in_progress")
	changed := must(api.UpdateTaskWithResponse(ctx, made.Id, nil,
		relay.TaskUpdate{Progress: ptr(int32(50)), Status: &status}, agent))
	task := given(changed.JSON200, changed.Status(), changed.Body)
	done := relay.RelayTaskStatus("done")
	create(relay.TaskCreate{Title: "Done", Status: &done}, agent)
	create(relay.TaskCreate{Title: "From the person", KeyId: &key.Key.Id}, mine)

	asked := make(chan relay.Question, 1)
	go func() {
		kind := relay.QuestionKind("choice")
		body := relay.QuestionCreate{Prompt: "Which?", Kind: &kind, Options: &[]string{"a", "b"}, TaskId: &task.Id}
		answer := must(api.AskQuestionWithResponse(ctx, &relay.AskQuestionParams{Wait: ptr(int32(20))}, body, agent))
		asked <- *given(answer.JSON201, answer.Status(), answer.Body)
	}()
	for i := 0; i < 100; i++ {
		page := must(api.ListQuestionsWithResponse(ctx, nil, mine))
		pending := given(page.JSON200, page.Status(), page.Body).Questions
		if len(pending) > 0 {
			must(api.AnswerQuestionWithResponse(ctx, pending[0].Id, nil, relay.QuestionAnswer{Answer: "b"}, mine))
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	question := <-asked

	read := must(api.ReadInboxWithResponse(ctx, &relay.ReadInboxParams{Peek: ptr(true)}, agent))
	items := []object{}
	for _, item := range given(read.JSON200, read.Status(), read.Body).Items {
		var updated_at *float64
		if item.Task != nil {
			updated_at = &item.Task.UpdatedAt
		}
		items = append(items, object{"id": item.Id, "type": item.Type, "from": item.From.Kind,
			"created_at": item.CreatedAt, "task_updated_at": updated_at})
	}
	filter := []relay.RelayTaskStatus{"todo", "in_progress"}
	listed := must(api.ListTasksWithResponse(ctx, &relay.ListTasksParams{Status: &filter}, agent))
	open := []string{}
	for _, one := range given(listed.JSON200, listed.Status(), listed.Body).Tasks {
		open = append(open, one.Id)
	}
	missing := must(api.GetTaskWithResponse(ctx, "tsk_none", nil, agent))
	problem := given(missing.ApplicationproblemJSON404, missing.Status(), missing.Body)
	fields := []string{}
	for name := range *problem.Fields {
		fields = append(fields, name)
	}
	of_event := <-first
	for len(seen) < 3 {
		seen = append(seen, <-names)
	}
	report := object{
		"token":   person.Token,
		"account": object{"id": person.Account.Id, "created_at": person.Account.CreatedAt},
		"key":     object{"id": key.Key.Id, "created_at": key.Key.CreatedAt},
		"task": object{"id": task.Id, "created_at": task.CreatedAt, "updated_at": task.UpdatedAt,
			"seen_at": task.SeenAt, "completed_at": task.CompletedAt, "progress": task.Progress,
			"status": task.Status},
		"question": object{"id": question.Id, "status": question.Status, "answer": question.Answer,
			"created_at": question.CreatedAt, "answered_at": question.AnsweredAt,
			"expires_at": question.ExpiresAt},
		"items":  items,
		"open":   open,
		"error":  object{"status": missing.StatusCode(), "code": problem.Code, "field": strings.Join(fields, ",")},
		"events": object{"names": seen, "updated_at": of_event.UpdatedAt},
	}
	os.Stdout.Write(append(must(json.Marshal(report)), '\n'))
}

func readEvents(ctx context.Context, mine relay.RequestEditorFn, names chan<- string, first chan<- relay.RelayTask) {
	client := must(relay.NewClient(os.Getenv("RELAY_URL")))
	stream := must(client.StreamEvents(ctx, mine))
	lines := bufio.NewScanner(stream.Body)
	event := ""
	for lines.Scan() {
		if name, found := strings.CutPrefix(lines.Text(), "event: "); found {
			event = name
			names <- name
		}
		data, found := strings.CutPrefix(lines.Text(), "data: ")
		if found && event == "task.created" {
			var created relay.TaskEventData
			if err := json.Unmarshal([]byte(data), &created); err != nil {
				panic(err)
			}
			first <- created.Task
			return
		}
	}
}
