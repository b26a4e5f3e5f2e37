// The official Go SDK; it does what flow.py says of a client, and prints the same line.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type withKey struct{}

func (withKey) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+os.Getenv("RELAY_KEY"))
	return http.DefaultTransport.RoundTrip(request)
}

type object = map[string]any

func main() {
	transport := &mcp.StreamableClientTransport{
		Endpoint:   os.Getenv("RELAY_URL"),
		HTTPClient: &http.Client{Transport: withKey{}},
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "interop", Version: "1"}, nil)
	session, err := client.Connect(context.Background(), transport, nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	call := func(ctx context.Context, name string, arguments object) (object, error) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			return nil, err
		}
		if len(result.Content) == 0 {
			return nil, errors.New("the result is empty")
		}
		text := result.Content[0].(*mcp.TextContent).Text
		if result.IsError {
			return nil, errors.New(text)
		}
		data := object{}
		return data, json.Unmarshal([]byte(text), &data)
	}
	ask := func(prompt string, wait int) object {
		return object{"prompt": prompt, "wait_seconds": wait}
	}
	background := context.Background()
	steps := map[string]func() (object, error){
		"list": func() (object, error) {
			result, err := session.ListTools(background, nil)
			if err != nil {
				return nil, err
			}
			return object{"tools": len(result.Tools)}, nil
		},
		"call": func() (object, error) {
			made, err := call(background, "create_task", object{"title": "Try", "notify": false})
			if err != nil {
				return nil, err
			}
			list, err := call(background, "list_tasks", object{"status": []string{"todo"}, "limit": 1})
			if err != nil {
				return nil, err
			}
			task := list["tasks"].([]any)[0].(object)
			return object{"same": task["id"] == made["id"], "title": task["title"]}, nil
		},
		"ask": func() (object, error) {
			return call(background, "ask_question", ask("Answer me", 30))
		},
		"pending": func() (object, error) {
			began := time.Now()
			data, err := call(background, "ask_question", ask("Leave me", 1))
			if err != nil {
				return nil, err
			}
			return object{"status": data["status"], "seconds": time.Since(began).Seconds()}, nil
		},
		"cancel": func() (object, error) {
			ctx, cancel := context.WithTimeout(background, 2*time.Second)
			defer cancel()
			call(ctx, "ask_question", ask("Cancel me", 30))
			time.Sleep(500 * time.Millisecond)
			return call(background, "ask_question", ask("Cancel me", 1))
		},
		"error": func() (object, error) {
			_, err := call(background, "get_task", object{"task_id": "tsk_none"})
			return object{"text": fmt.Sprint(err)}, nil
		},
	}
	outcome := object{}
	for _, name := range []string{"list", "call", "ask", "pending", "cancel", "error"} {
		found, err := steps[name]()
		if err != nil {
			found = object{"fault": err.Error()}
		}
		outcome[name] = found
	}
	line, _ := json.Marshal(outcome)
	fmt.Printf("\n%s\n", line)
}
