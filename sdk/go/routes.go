package muster

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
)

// route is a path of the server that the module answers.
type route struct {
	path    string
	methods []string
	handler func(http.ResponseWriter, *http.Request)
}

// RegisterHttp registers a handler for a path. In the pattern {name} stands for any one part, which the request returns
// as PathValue(name).
func (i initializer) RegisterHttp(pathPattern string, handler func(http.ResponseWriter, *http.Request), methods ...string) error {
	routes := &i.registered().routes
	*routes = append(*routes, route{pathPattern, methods, handler})
	return needs("RegisterHttp", handler != nil)
}

func (r route) serve(c call, given given) ([]byte, error) {
	asked, _ := given.value.(fields)
	target := &url.URL{Path: asked.text("path")}
	if path, err := url.PathUnescape(target.Path); err == nil {
		target.RawPath, target.Path = target.Path, path
	}
	query := url.Values(multimapOf(asked["query"]))
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(c.ctx, asked.text("method"), target.String(), bytes.NewReader(given.body))
	if err != nil {
		return nil, err
	}
	request.Header = http.Header(multimapOf(asked["headers"]))
	request.Host = request.Header.Get("Host")
	request.RemoteAddr = asked.text("client_ip")
	request.RequestURI = target.RequestURI()
	parameters := map[string]string{}
	if text, is := asked["path_params"].(rawJSON); is {
		if err := json.Unmarshal([]byte(text), &parameters); err != nil {
			return nil, err
		}
	}
	for name, value := range parameters {
		request.SetPathValue(name, value)
	}
	response := &response{header: http.Header{}, status: http.StatusOK}
	r.handler(response, request)
	if response.header.Get("Content-Type") == "" && response.body.Len() > 0 {
		response.header.Set("Content-Type", http.DetectContentType(response.body.Bytes()))
	}
	w := &writer{}
	err = w.values([]any{record{
		{"status", response.status}, {"headers", map[string][]string(response.header)}, {"body", response.body.Bytes()},
	}})
	return w.b, err
}

func multimapOf(value any) map[string][]string {
	values := map[string][]string{}
	if text, is := value.(rawJSON); is {
		// The server wrote valid JSON.
		_ = json.Unmarshal([]byte(text), &values)
	}
	return values
}

// response collects what a handler writes, until the handler returns.
type response struct {
	header    http.Header
	status    int
	isWritten bool
	body      bytes.Buffer
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if !r.isWritten {
		r.status, r.isWritten = status, true
	}
}

func (r *response) Write(part []byte) (int, error) {
	r.isWritten = true
	return r.body.Write(part)
}
