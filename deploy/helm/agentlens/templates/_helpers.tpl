{{- define "agentlens.prefix" -}}
{{- if kindIs "string" .Values.namePrefix }}{{ .Values.namePrefix }}{{ else }}{{ .Release.Name }}-{{ end -}}
{{- end -}}

{{- define "agentlens.name" -}}
{{ include "agentlens.prefix" .root }}{{ .name }}
{{- end -}}

{{/* A value as text. Helm reads numbers as floats and would write a million as 1e+06. */}}
{{- define "agentlens.text" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) (lt . 9e15) (gt . -9e15) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end -}}
{{- end -}}

{{/* Name of what the whole release shares: the service account, the secret. */}}
{{- define "agentlens.shared" -}}
{{- trimSuffix "-" (include "agentlens.prefix" .) | default "agentlens" -}}
{{- end -}}

{{/* Labels by which policies, services and budgets select pods: those of one part, and those of all. */}}
{{- define "agentlens.release" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/part-of: agentlens
{{- end -}}

{{- define "agentlens.selector" -}}
app.kubernetes.io/name: {{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- end -}}

{{- define "agentlens.podLabels" -}}
{{ include "agentlens.selector" . }}
app.kubernetes.io/part-of: agentlens
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* metadata of an object: root, name, and the component of a pod. */}}
{{- define "agentlens.metadata" -}}
name: {{ include "agentlens.name" . }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "agentlens.labels" (merge (dict "name" (.part | default .name)) .) | nindent 2 }}
{{- end -}}

{{- define "agentlens.labels" -}}
{{ include "agentlens.selector" . }}
app.kubernetes.io/part-of: agentlens
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- if eq .root.Values.migration.kind "helm" }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}
{{- end -}}

{{- define "agentlens.image" -}}
{{- $image := .root.Values.image -}}
{{- with get $image.digests .name -}}
{{ $image.registry }}/{{ $.name }}@{{ . }}
{{- else -}}
{{ $image.registry }}/{{ .name }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* Settings of a pod that are the same for all. */}}
{{- define "agentlens.podSettings" -}}
serviceAccountName: {{ include "agentlens.shared" . }}
automountServiceAccountToken: false
# Kubernetes would add AGENTLENS_* variables for every service of that name.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "agentlens.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .group | default .user }}
fsGroup: {{ .group | default .user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "agentlens.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "agentlens.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "agentlens.selector" . | nindent 8 }}
{{- end -}}

{{/* The Secret and key of an entry, as `name` and `key`. */}}
{{- define "agentlens.secretRef" -}}
{{- $ref := get .root.Values.secrets.refs .entry | default dict -}}
name: {{ $ref.name | default .root.Values.secrets.existing | default (include "agentlens.shared" .root) }}
key: {{ $ref.key | default .entry }}
{{- end -}}

{{/* A volume with some entries as files: root, and files by name. */}}
{{- define "agentlens.secretVolume" -}}
- name: secrets
  projected:
    # 0440
    defaultMode: 288
    sources:
      {{- range $file, $entry := .files }}
      {{- $ref := include "agentlens.secretRef" (dict "root" $.root "entry" $entry) | fromYaml }}
      - secret:
          name: {{ $ref.name }}
          items:
            - { key: {{ $ref.key }}, path: {{ $file }} }
      {{- end }}
{{- end -}}

{{- define "agentlens.isCluster" -}}
{{- if and .Values.nats.bundled (gt (int .Values.nats.replicas) 1) }}true{{ end -}}
{{- end -}}

{{/* NATS addresses with the user of a service; its password comes from a file. */}}
{{- define "agentlens.natsUrl" -}}
{{- $nats := .root.Values.nats -}}
{{- $urls := list -}}
{{- if $nats.bundled -}}
{{- $name := include "agentlens.name" (dict "root" .root "name" "nats") -}}
{{- range $index := until (int $nats.replicas) }}{{ $urls = append $urls (printf "nats://%s-%d.%s:4222" $name $index $name) }}{{ end -}}
{{- else }}{{ $urls = $nats.urls }}{{ end -}}
{{- $complete := list -}}
{{- range $urls }}{{ $complete = append $complete (. | replace "://" (printf "://%s@" $.user)) }}{{ end -}}
{{- join "," $complete -}}
{{- end -}}

{{- define "agentlens.databaseUrl" -}}
{{- $postgres := .root.Values.postgres -}}
{{- $host := ternary (include "agentlens.name" (dict "root" .root "name" "postgres")) $postgres.host $postgres.bundled -}}
postgres://{{ .user }}@{{ $host }}:{{ $postgres.port }}/{{ $postgres.database }}{{ with $postgres.parameters }}?{{ . }}{{ end }}
{{- end -}}

{{/* Variables of a service or of the migration: root, the users of Postgres and NATS. */}}
{{- define "agentlens.env" -}}
{{- $values := .root.Values -}}
- { name: AGENTLENS_HTTP_PORT, value: "3400" }
- { name: DATABASE_URL, value: {{ include "agentlens.databaseUrl" (dict "root" .root "user" .databaseUser) | quote }} }
- { name: DATABASE_PASSWORD_FILE, value: /run/secrets/agentlens/database_password }
- { name: NATS_URL, value: {{ include "agentlens.natsUrl" (dict "root" .root "user" .natsUser) | quote }} }
- { name: NATS_PASSWORD_FILE, value: /run/secrets/agentlens/nats_password }
- { name: REDIS_URL, value: {{ ternary (printf "redis://%s:6379" (include "agentlens.name" (dict "root" .root "name" "redis"))) $values.redis.url $values.redis.bundled | quote }} }
{{- if or $values.redis.bundled $values.redis.password }}
- { name: REDIS_PASSWORD_FILE, value: /run/secrets/agentlens/redis_password }
{{- end }}
- { name: AGENTLENS_SECRET_KEY_FILE, value: /run/secrets/agentlens/secret_key }
{{- with $values.publicUrl }}
- { name: AGENTLENS_PUBLIC_URL, value: {{ . | quote }} }
{{- end }}
{{- with $values.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- if $values.certificates.configMap }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/agentlens/certificates/{{ $values.certificates.key }} }
{{- end }}
{{- range $name, $value := $values.settings }}
- { name: {{ $name }}, value: {{ include "agentlens.text" $value | quote }} }
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Files that every process of ours needs, without its own passwords. */}}
{{- define "agentlens.commonFiles" -}}
secret_key: secret_key
{{- if or .Values.redis.bundled .Values.redis.password }}
redis_password: redis_password
{{- end }}
{{- end -}}

{{- define "agentlens.mounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /run/secrets/agentlens, readOnly: true }
{{- if .Values.certificates.configMap }}
- { name: certificates, mountPath: /etc/agentlens/certificates, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "agentlens.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
{{- with .Values.certificates.configMap }}
- name: certificates
  configMap: { name: {{ . }} }
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
