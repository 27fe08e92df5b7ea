//go:build tools

package main

// The charts are rendered by the program that their users run.
import _ "helm.sh/helm/v3/cmd/helm"
