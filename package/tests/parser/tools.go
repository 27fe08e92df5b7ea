//go:build tools

package main

// The versions of everything are those of the core that the testbed runs, so that both build the same packages, once.
import _ "github.com/crossplane/crossplane/v2/cmd/crossplane"
