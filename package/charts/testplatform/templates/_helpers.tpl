{{- /* The registry of references that nobody has replaced yet. It does not exist. */}}
{{- define "testplatform.placeholder" -}}
xpkg.example.org/
{{- end }}
