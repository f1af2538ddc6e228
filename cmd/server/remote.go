package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/pacekeeper/pacekeeper/client"
	"github.com/pacekeeper/pacekeeper/policy"
)

// remoteFlags say which server a command talks to, and as whom.
type remoteFlags struct {
	Server string `setting:"PACEKEEPER_SERVER" default:"http://127.0.0.1:8080" placeholder:"URL" help:"The running server."`
	Token  string `setting:"PACEKEEPER_TOKEN" placeholder:"TOKEN" help:"A token of it: an operator's to apply, an operator's or an auditor's to plan and export. Best given in the environment."`
}

// ask sends a request and hands over the answer of a success; the caller closes its body.
func (r remoteFlags) ask(ctx context.Context, method, path string, query url.Values, body []byte, headers map[string]string) (*http.Response, error) {
	if r.Token == "" {
		return nil, errors.New("a token is needed: set PACEKEEPER_TOKEN, or give --token")
	}
	if base, err := url.Parse(r.Server); err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("--server must be a URL such as http://127.0.0.1:8080 or https://pace.example.org")
	}
	address := strings.TrimSuffix(r.Server, "/") + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("--server: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+r.Token)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("the server does not answer: %w", err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	return nil, problemOf(response)
}

// answerOf sends a request and reads the JSON of the answer, also as it was sent.
func answerOf[T any](ctx context.Context, r remoteFlags, method, path string, query url.Values, body []byte, headers map[string]string) (answer T, raw []byte, err error) {
	response, err := r.ask(ctx, method, path, query, body, headers)
	if err != nil {
		return answer, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if raw, err = io.ReadAll(response.Body); err != nil {
		return answer, nil, fmt.Errorf("the answer breaks off: %w", err)
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return answer, nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return answer, raw, nil
}

// sentPlace is where a fault stands in what was sent; people read where it stands in their files.
var sentPlace = regexp.MustCompile(`^line \d+, column \d+: `)

// problemOf makes an error of an answer that is a problem.
func problemOf(response *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("the answer breaks off: %w", err)
	}
	var problem client.Problem
	if err := json.Unmarshal(data, &problem); err != nil || problem.Code == "" {
		return fmt.Errorf("the server answers %s; is it Pacekeeper at %s?", response.Status, response.Request.URL.Host)
	}
	known := &policy.Error{Code: policy.Code(problem.Code), Message: problem.Detail}
	for _, e := range problem.Errors {
		known.Fields = append(known.Fields, policy.FieldError{
			Pointer: e.Pointer, Code: e.Code, Detail: sentPlace.ReplaceAllString(e.Detail, ""),
		})
	}
	return known
}
