{{- define "quintet.name" -}}{{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}{{- end }}
{{- define "quintet.fullname" -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "quintet.name" .) .Release.Name }}{{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name (include "quintet.name" .) | trunc 63 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- define "quintet.selector" -}}
app.kubernetes.io/name: {{ include "quintet.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "quintet.labels" -}}
{{ include "quintet.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}
{{- define "quintet.image" -}}{{ .Values.image.repository }}:{{ default (printf "v%s" .Chart.AppVersion) .Values.image.tag }}{{- end }}
{{- define "quintet.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "quintet.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}
{{- define "quintet.tlsSecret" -}}{{ default (printf "%s-tls" (include "quintet.fullname" .)) .Values.tls.secretName }}{{- end }}
{{- define "quintet.authSecret" -}}{{ default (printf "%s-auth" (include "quintet.fullname" .)) .Values.auth.secretName }}{{- end }}
{{- define "quintet.config" -}}
listen: 0.0.0.0:8420
data: /var/lib/quintet
nats:
  embedded: true
  listen: 0.0.0.0:4222
  names: [{{ include "quintet.fullname" . }}, {{ include "quintet.fullname" . }}.{{ .Release.Namespace }}.svc]
web:
  tls: {cert_file: /etc/quintet/tls/tls.crt, key_file: /etc/quintet/tls/tls.key}
  users: [{name: {{ .Values.auth.user | quote }}, password_file: /etc/quintet/auth/password}]
collectors:
  receive: [{}]
{{- end }}
{{- define "quintet.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end }}
