//go:build tools

// Package crossplane pins Crossplane core.
package crossplane

import _ "github.com/crossplane/crossplane/v2/cmd/crossplane"
