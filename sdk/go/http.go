package muster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// transport is the default transport of net/http. It sends requests through the server, since a module has no sockets.
type transport struct{}

// responseWait is how long the server waits for a response unless the request's context says otherwise.
const responseWait = 30 * time.Second

func (transport) RoundTrip(request *http.Request) (*http.Response, error) {
	var body any
	if request.Body != nil {
		read, err := io.ReadAll(request.Body)
		if err := request.Body.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		body = read
	}
	headers := map[string]string{}
	for name, values := range request.Header {
		headers[name] = strings.Join(values, ", ")
	}
	if request.Host != "" && request.Host != request.URL.Host {
		headers["Host"] = request.Host
	}
	wait := responseWait
	if deadline, is := request.Context().Deadline(); is {
		wait = max(time.Until(deadline), time.Millisecond)
	}
	m := module{server: theServer}
	value, err := m.ask(request.Context(), "http_request", request.URL.String(), request.Method, headers, body, float64(wait.Milliseconds()))
	if err != nil {
		return nil, err
	}
	results := resultsOf(value, 3)
	code, _ := results[0].(float64)
	answered := textOf(results[2])
	response := &http.Response{
		Status:        strconv.Itoa(int(code)) + " " + http.StatusText(int(code)),
		StatusCode:    int(code),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{},
		Body:          io.NopCloser(bytes.NewReader([]byte(answered))),
		ContentLength: int64(len(answered)),
		Request:       request,
	}
	if text, is := results[1].(rawJSON); is {
		named := map[string]string{}
		if err := json.Unmarshal([]byte(text), &named); err != nil {
			return nil, err
		}
		for name, value := range named {
			response.Header.Set(name, value)
		}
	}
	return response, nil
}
