package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// nodeDriver is a process of Node that asks the limiters that live there, over one connection of its own.
type nodeDriver struct {
	version string
	mu      sync.Mutex
	in      io.WriteCloser
	waiting map[int]chan nodeReply
	next    int
	cmd     *exec.Cmd
}

type nodeCall struct {
	ID       int    `json:"id"`
	Peer     string `json:"peer"`
	Attack   string `json:"attack,omitempty"`
	Action   string `json:"action"`
	Limit    int    `json:"limit"`
	PeriodMS int64  `json:"period_ms"`
	First    int    `json:"first"`
	Members  int    `json:"members"`
}

type nodeReply struct {
	ID      int          `json:"id"`
	Passed  int          `json:"passed"`
	Spans   [][2]float64 `json:"spans"`
	Version string       `json:"version"`
	Peers   []string     `json:"peers"`
	Error   string       `json:"error"`
}

// newNodePeers starts node/driver.js, whose first line names its limiters. Their packages must be installed.
func newNodePeers(s *server) (*nodeDriver, []*peer, error) {
	n := &nodeDriver{waiting: map[int]chan nodeReply{}, cmd: exec.Command("node", "node/driver.js", s.socket, nodeGroup)}
	var err error
	if n.in, err = n.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	out, err := n.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := n.cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("start node: %w", err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	var hello nodeReply
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &hello) != nil {
		n.stop()
		return nil, nil, errors.New("node/driver.js did not start: run npm ci in enforce/bench/node")
	}
	n.version = hello.Version
	go n.listen(lines)
	peers := make([]*peer, len(hello.Peers))
	for i, name := range hello.Peers {
		peers[i] = n.peer(name)
		peers[i].yardstick = i == 0
	}
	return n, peers, nil
}

// listen hands answers to who waits for them; when the process ends, an error.
func (n *nodeDriver) listen(lines *bufio.Scanner) {
	for lines.Scan() {
		var r nodeReply
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue
		}
		n.mu.Lock()
		n.waiting[r.ID] <- r
		delete(n.waiting, r.ID)
		n.mu.Unlock()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, who := range n.waiting {
		who <- nodeReply{Error: "node has ended"}
	}
}

func (n *nodeDriver) ask(c nodeCall) (nodeReply, error) {
	answer := make(chan nodeReply, 1)
	n.mu.Lock()
	n.next++
	c.ID = n.next
	n.waiting[c.ID] = answer
	err := json.NewEncoder(n.in).Encode(c)
	n.mu.Unlock()
	if err != nil {
		return nodeReply{}, err
	}
	r := <-answer
	if r.Error != "" {
		return r, fmt.Errorf("%s: %s", c.Peer, r.Error)
	}
	return r, nil
}

func (n *nodeDriver) stop() {
	_ = n.in.Close()
	_ = n.cmd.Wait()
}

func (n *nodeDriver) peer(name string) *peer {
	return &peer{
		name: name, node: true,
		many: func(_ context.Context, q quota, first, members int) (int, error) {
			r, err := n.ask(nodeCall{Peer: name, Action: q.action(), Limit: q.limit, PeriodMS: q.period.Milliseconds(), First: first, Members: members})
			return r.Passed, err
		},
		attack: func(_ context.Context, pattern string, member int) ([]span, error) {
			q := abuseQuota
			r, err := n.ask(nodeCall{Peer: name, Attack: pattern, Action: q.action(), Limit: q.limit, PeriodMS: q.period.Milliseconds(), First: member})
			spans := make([]span, len(r.Spans))
			for i, s := range r.Spans {
				spans[i] = span{s[0], s[1]}
			}
			return spans, err
		},
	}
}
