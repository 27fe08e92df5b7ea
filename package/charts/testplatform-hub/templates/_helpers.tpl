{{- /* The provider's configuration as YAML. */}}
{{- define "testplatform-hub.config" -}}
{{ toYaml .Values.provider.config }}
{{- end }}
{{- /* Name of the ConfigMap, by its content: a change restarts the provider, which reads its configuration once. */}}
{{- define "testplatform-hub.configName" -}}
provider-testplatform-config-{{ include "testplatform-hub.config" . | sha256sum | trunc 10 }}
{{- end }}
{{- /* The registry of references that nobody has replaced yet. It does not exist. */}}
{{- define "testplatform-hub.placeholder" -}}
xpkg.example.org/
{{- end }}
