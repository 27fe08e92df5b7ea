//go:build tools

// Package clusterapi pins the managers of Cluster API: core, kubeadm, and the infrastructure that is only in memory.
package clusterapi

import (
	_ "sigs.k8s.io/cluster-api/core"
	_ "sigs.k8s.io/cluster-api/bootstrap/kubeadm"
	_ "sigs.k8s.io/cluster-api/controlplane/kubeadm"
	_ "sigs.k8s.io/cluster-api/test/infrastructure/docker"
)
