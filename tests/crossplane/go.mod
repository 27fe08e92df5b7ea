module testplatform/crossplane

go 1.25.11

require github.com/crossplane/crossplane/v2 v2.3.4
