// PocketBase for `bun run bench:peers`: its own server with a collection of tasks and users who own them.
//
// `pocketbase serve --http 127.0.0.1:0 --dir FOLDER` prints one line of JSON when it listens: the port, the users with
// their tokens, and the pragmas in force on the connection that writes.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"runtime/debug"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

// One user for each connection of the bench, and one whose tasks are changed.
const users = 65

// PocketBase's own pragmas, except that every commit is synced: by default it is NORMAL, which in WAL mode syncs only
// at checkpoints, so that an acknowledged change can be lost.
const pragmas = "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=journal_size_limit(200000000)" +
	"&_pragma=synchronous(FULL)&_pragma=foreign_keys(ON)&_pragma=temp_store(MEMORY)&_pragma=cache_size(-32000)"

type user struct {
	Id    string `json:"id"`
	Token string `json:"token"`
}

type ready struct {
	Port        int    `json:"port"`
	Version     string `json:"version"`
	Sqlite      string `json:"sqlite"`
	JournalMode string `json:"journal_mode"`
	Synchronous int    `json:"synchronous"`
	Users       []user `json:"users"`
}

func main() {
	app := pocketbase.NewWithConfig(pocketbase.Config{
		HideStartBanner: true,
		DBConnect: func(path string) (*dbx.DB, error) {
			return dbx.Open("sqlite", path+pragmas)
		},
	})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.InstallerFunc = nil
		// Relay's request log is off in the bench too.
		app.Settings().Logs.MaxDays = 0
		if err := createTasks(app); err != nil {
			return err
		}
		made, err := createUsers(app)
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", e.Server.Addr)
		if err != nil {
			return err
		}
		e.Listener = listener
		if err := e.Next(); err != nil {
			return err
		}
		return report(app, listener.Addr().(*net.TCPAddr).Port, made)
	})
	if err := app.Start(); err != nil {
		log.Fatal(err)
	}
}

// createTasks makes a collection with the fields of a task in Relay. A user sees and changes only their own tasks.
func createTasks(app core.App) error {
	owners, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return err
	}
	tasks := core.NewBaseCollection("tasks")
	tasks.ListRule = types.Pointer("owner = @request.auth.id")
	tasks.ViewRule = tasks.ListRule
	tasks.UpdateRule = tasks.ListRule
	tasks.CreateRule = types.Pointer("@request.auth.id != '' && @request.body.owner = @request.auth.id")
	tasks.Fields.Add(
		&core.RelationField{Name: "owner", Required: true, MaxSelect: 1, CollectionId: owners.Id},
		&core.TextField{Name: "title", Required: true, Max: 200},
		&core.TextField{Name: "description", Max: 10000},
		&core.SelectField{Name: "status", MaxSelect: 1, Values: []string{"todo", "in_progress", "done"}},
		&core.SelectField{Name: "priority", MaxSelect: 1, Values: []string{"low", "medium", "high"}},
		&core.NumberField{Name: "progress"},
		&core.TextField{Name: "status_note", Max: 500},
		&core.BoolField{Name: "notify"},
		&core.AutodateField{Name: "created", OnCreate: true},
		&core.AutodateField{Name: "updated", OnCreate: true, OnUpdate: true},
	)
	tasks.AddIndex("tasks_by_owner", false, "owner, created", "")
	return app.Save(tasks)
}

func createUsers(app core.App) ([]user, error) {
	collection, err := app.FindCollectionByNameOrId("users")
	if err != nil {
		return nil, err
	}
	// The bench signs nobody in: the password is only a hash to keep.
	made := make([]user, 0, users)
	for i := range users {
		record := core.NewRecord(collection)
		record.SetEmail(fmt.Sprintf("user-%d@example.org", i))
		record.SetPassword("a password of the bench")
		if err := app.Save(record); err != nil {
			return nil, err
		}
		token, err := record.NewAuthToken()
		if err != nil {
			return nil, err
		}
		made = append(made, user{record.Id, token})
	}
	return made, nil
}

func report(app core.App, port int, made []user) error {
	line := ready{Port: port, Version: version(), Users: made}
	db := app.NonconcurrentDB()
	for query, to := range map[string]any{
		"PRAGMA synchronous":      &line.Synchronous,
		"PRAGMA journal_mode":     &line.JournalMode,
		"SELECT sqlite_version()": &line.Sqlite,
	} {
		if err := db.NewQuery(query).Row(to); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(line)
}

func version() string {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/pocketbase/pocketbase" {
				return module.Version
			}
		}
	}
	return "unknown"
}
