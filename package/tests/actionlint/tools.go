//go:build tools

package main

// The linter is built from its own module; this import pins its version.
import _ "github.com/rhysd/actionlint/cmd/actionlint"
