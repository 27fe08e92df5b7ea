// Registry is what the tests of `cargo xpkg push` push to: the in-memory registry of go-containerregistry, behind the
// ways in which registries let clients in. It prints its address, then a line for each request.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() {
	auth := flag.String("auth", "none", "none, basic or bearer")
	user := flag.String("user", "", "name that is let in; empty: a token for anybody")
	password := flag.String("password", "", "and its password")
	weighs := flag.Bool("scopes", false, "bearer: say for what a token has to be, and weigh it as Quay does")
	identity := flag.String("identity", "", "identity token that is let in as well")
	certificate := flag.String("cert", "", "serve TLS with this certificate")
	key := flag.String("key", "", "and its key")
	flag.Parse()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	scheme := "http"
	if *certificate != "" {
		scheme = "https"
	}
	fmt.Printf("%s\n", listener.Addr())

	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	known := func(r *http.Request) bool {
		name, secret, _ := r.BasicAuth()
		return *user == "" || (name == *user && secret == *password)
	}
	var repositories sync.Map
	// What Quay gives a robot that may create repositories: one is made when a token to push is asked for, and only what is there may be read.
	granted := func(scope string) string {
		path, actions, _ := strings.Cut(strings.TrimPrefix(scope, "repository:"), ":")
		var given []string
		asked := strings.Split(actions, ",")
		if slices.Contains(asked, "push") {
			repositories.Store(path, true)
			given = append(given, "push")
		}
		if _, there := repositories.Load(path); there && slices.Contains(asked, "pull") {
			given = append(given, "pull")
		}
		return path + ":" + strings.Join(given, ",")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		// A form is how an identity token is changed into one for a scope.
		exchanged := r.Method == http.MethodPost && *identity != "" && r.PostForm.Get("refresh_token") == *identity
		if r.Form.Get("service") != "test" || !(exchanged || (r.Method == http.MethodGet && known(r))) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		scope := r.Form.Get("scope")
		if *weighs {
			scope = granted(scope)
		}
		fmt.Fprintf(w, `{"token": %q}`, url.QueryEscape(scope))
	})
	mux.HandleFunc("/v2/", func(w http.ResponseWriter, r *http.Request) {
		challenge := ""
		switch *auth {
		case "basic":
			if !known(r) {
				challenge = `Basic realm="test"`
			}
		case "bearer":
			token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			way := fmt.Sprintf(`Bearer realm="%s://%s/token",service="test"`, scheme, listener.Addr())
			if *weighs {
				path, need := needed(r)
				given, _ := url.QueryUnescape(token)
				actions, is := strings.CutPrefix(given, path+":")
				if !is || !slices.Contains(strings.Split(actions, ","), need) {
					challenge = fmt.Sprintf(`%s,scope="repository:%s:%s"`, way, path, need)
				}
			} else if token == "" {
				// Scopes are not weighed: having got one is what counts.
				challenge = way
			}
		}
		if challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"errors": [{"code": "UNAUTHORIZED", "message": "authentication required"}]}`)
			return
		}
		// As Google's registries have it: of an empty body too its length is told.
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Content-Length") == "" {
			w.WriteHeader(http.StatusLengthRequired)
			return
		}
		inner.ServeHTTP(w, r)
	})
	logged := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := &recorder{ResponseWriter: w, status: http.StatusOK}
		mux.ServeHTTP(status, r)
		fmt.Printf("%s %s %d\n", r.Method, r.URL.Path, status.status)
	})

	// Whoever started it is gone when its input ends.
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	if *certificate != "" {
		log.Fatal(http.ServeTLS(listener, logged, *certificate, *key))
	}
	log.Fatal(http.Serve(listener, logged))
}

// Needed is the repository of a request, and what it does there.
func needed(r *http.Request) (path, action string) {
	path = strings.TrimPrefix(r.URL.Path, "/v2/")
	for _, part := range []string{"/blobs/", "/manifests/"} {
		path, _, _ = strings.Cut(path, part)
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return path, "pull"
	}
	return path, "push"
}

type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}
