package enforce_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// exampleRedis is Redis for the examples, with a clock that stands still.
func exampleRedis() (*redis.Client, func()) {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	server.SetTime(exampleTime)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
	return rdb, func() { _ = rdb.Close(); server.Close() }
}

func ExampleClient_Check() {
	rdb, end := exampleRedis()
	defer end()
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: exampleTimeout})
	for range 2 {
		d, err := client.Check(context.Background(), enforce.Request{Action: "message", Group: "tea", User: "ann"})
		if err != nil {
			panic(err) // a malformed request; without Redis on_failure decides, which is no error
		}
		fmt.Printf("%v %s %d %q\n", d.Allowed(), d.Code, d.WaitMS, d.Notice("en"))
	}
	// Output:
	// true allowed 0 ""
	// false refused_interval 2000 "You’re writing quickly. Please wait 2 s before the next message."
}

func ExampleClient_CheckMany() {
	rdb, end := exampleRedis()
	defer end()
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: exampleTimeout})
	decisions, err := client.CheckMany(context.Background(), []enforce.Request{
		{Action: "message", Group: "tea", User: "ann"},
		{Action: "message", Group: "tea", User: "bob", Roles: []string{"bot"}},
		{Action: "message", Group: "tea", User: "ann"},
		{Action: "message", Group: "books", User: "ann", Cost: 3},
	})
	if err != nil {
		panic(err)
	}
	for _, d := range decisions {
		fmt.Println(d.Code, d.Hint().RetryAfterMS)
	}
	// Output:
	// allowed 0
	// allowed_exempt 0
	// refused_interval 2000
	// allowed 0
}
