package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/quintet-dc/quintet/client"
)

// The open incidents, each with its root and what it costs.
func ExampleClient_GetIncidents() {
	c, err := client.New("http://127.0.0.1:8420")
	if err != nil {
		log.Fatal(err)
	}
	list, err := c.GetIncidents(context.Background(), client.GetIncidentsParams{State: "open"})
	if err != nil {
		log.Fatal(err)
	}
	for _, i := range list.Incidents {
		root := "under investigation"
		if i.Root != nil {
			root = fmt.Sprintf("%s at %s (%.0f %%)", i.Root.Signature, i.Root.Entity, 100*i.Root.Confidence)
		}
		fmt.Println(i.ID, i.Title, root)
	}
}

// Every change of an incident, until Ctrl-C.
func ExampleClient_Follow() {
	c, err := client.New("http://127.0.0.1:8420")
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err = c.Follow(ctx, "", func() {}, func(e client.StreamEvent) error {
		if e.Name != "incident" {
			return nil
		}
		var i client.Incident
		if err := json.Unmarshal(e.Data, &i); err != nil {
			return err
		}
		fmt.Println(i.Updated, i.State, i.Title)
		return nil
	})
	fmt.Println("the stream ended:", err)
}
