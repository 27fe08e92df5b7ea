module testplatform/provider-kubernetes

go 1.24.13

require github.com/crossplane-contrib/provider-kubernetes v1.2.1
