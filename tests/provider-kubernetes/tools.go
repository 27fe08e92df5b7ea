//go:build tools

// Package providerkubernetes pins provider-kubernetes.
package providerkubernetes

import _ "github.com/crossplane-contrib/provider-kubernetes/cmd/provider"
