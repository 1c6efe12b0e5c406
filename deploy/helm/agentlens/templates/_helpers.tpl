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
{{- with mergeOverwrite (dict) .root.Values.podLabels ((.workload | default dict).podLabels | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Annotations of a pod: root, the values of its workload, and those of the chart. */}}
{{- define "agentlens.podAnnotations" -}}
{{- with mergeOverwrite (dict) (.annotations | default dict) .root.Values.podAnnotations ((.workload | default dict).podAnnotations | default dict)  -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
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

{{/* Settings of a pod: root, the name of its service account, and the values of its workload, which come first. */}}
{{- define "agentlens.podSettings" -}}
{{- $values := .root.Values -}}
{{- $workload := .workload | default dict -}}
serviceAccountName: {{ .serviceAccount }}
automountServiceAccountToken: false
# Kubernetes would add AGENTLENS_* variables for every service of that name.
enableServiceLinks: false
{{- with $values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $workload.nodeSelector | default $values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $workload.tolerations | default $values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $workload.affinity | default $values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $workload.priorityClassName | default $values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $workload.hostAliases | default $values.hostAliases }}
hostAliases: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with $workload.dnsConfig | default $values.dnsConfig }}
dnsConfig: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with concat ($values.initContainers | default list) ($workload.initContainers | default list) }}
initContainers: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The service account of a workload: an existing one, its own, or the one that all share. */}}
{{- define "agentlens.serviceAccount" -}}
{{- $account := (.workload | default dict).serviceAccount | default dict -}}
{{- if $account.name }}{{ $account.name }}
{{- else if or .own $account.annotations }}{{ include "agentlens.name" . }}
{{- else }}{{ include "agentlens.shared" .root }}{{ end -}}
{{- end -}}

{{/* Annotations of a hook that runs before an installation or an upgrade: its weight, and whether it goes when all ended. */}}
{{- define "agentlens.hook" -}}
annotations:
  helm.sh/hook: pre-upgrade,pre-install
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation{{ if .gone }},hook-succeeded{{ end }}
  {{- with .annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "agentlens.annotations" -}}
{{- with .  -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/*
The migration runs before an upgrade, if all its servers run already. With those of this revision it is a part of the
revision, as at an installation. Without a cluster it cannot be known.
*/}}
{{- define "agentlens.migratesFirst" -}}
{{- if and (eq .Values.migration.kind "helm") .Release.IsUpgrade -}}
{{- $isNew := false -}}
{{- range $server := list "postgres" "nats" "redis" -}}
{{- $name := include "agentlens.name" (dict "root" $ "name" $server) -}}
{{- if and (get $.Values $server).bundled (include "agentlens.isLive" $) (not (lookup "apps/v1" "StatefulSet" $.Release.Namespace $name)) -}}
{{- $isNew = true -}}
{{- end -}}
{{- end -}}
{{- if not $isNew }}true{{ end -}}
{{- end -}}
{{- end -}}

{{/* Whether Helm can read the cluster: every namespace has this object. */}}
{{- define "agentlens.isLive" -}}
{{- if lookup "v1" "ServiceAccount" .Release.Namespace "default" }}true{{ end -}}
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

{{/* Spreads the replicas of a workload: its own constraints, or those of all, each for the pods of the workload. */}}
{{- define "agentlens.spread" -}}
{{- $selector := dict "labelSelector" (dict "matchLabels" (include "agentlens.selector" . | fromYaml)) -}}
{{- $constraints := list -}}
{{- range (.workload | default dict).topologySpread | default .root.Values.topologySpread -}}
{{- $constraints = append $constraints (merge (dict) . $selector) -}}
{{- end -}}
{{- with $constraints -}}
topologySpreadConstraints:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/*
Replicas of a Deployment: root, name, the configured number. An autoscaler owns the number; without the live one here, Helm
would scale to one replica when it removes the field.
*/}}
{{- define "agentlens.replicas" -}}
{{- if eq .root.Values.autoscaling.kind "none" -}}
replicas: {{ .replicas }}
{{- else if eq .root.Values.migration.kind "helm" -}}
{{- $live := lookup "apps/v1" "Deployment" .root.Release.Namespace (include "agentlens.name" .) -}}
{{- with ($live.spec | default dict).replicas -}}
replicas: {{ int . }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The entries of the Secret, as JSON. */}}
{{- define "agentlens.secretEntries" -}}
{{- $entries := list "postgres_password" "redis_password" "nats_password" "secret_key" -}}
{{- range $service, $_ := .Values.services -}}
{{- $id := $service | replace "-" "_" -}}
{{- $entries = concat $entries (list (printf "%s_database_password" $id) (printf "%s_nats_password" $id)) -}}
{{- end -}}
{{- toJson $entries -}}
{{- end -}}

{{/* Whether these values need an entry of the Secret. */}}
{{- define "agentlens.needsEntry" -}}
{{- $v := .root.Values -}}
{{- if eq .entry "redis_password" }}{{ if or $v.redis.bundled $v.redis.password }}true{{ end }}
{{- else }}true{{ end -}}
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

{{/*
Variables of a service or of the migration: root, the users of Postgres and NATS, the values of the workload, where those
are, and further variables of the chart. A variable that is set twice is refused, because Kubernetes would take either.
*/}}
{{- define "agentlens.env" -}}
{{- $own := concat (include "agentlens.ownEnv" . | fromYamlArray) (.further | default list) -}}
{{- $sources := dict -}}
{{- $values := dict "AGENTLENS_PUBLIC_URL" "publicUrl" "OTEL_EXPORTER_OTLP_ENDPOINT" "otlpEndpoint" "NODE_EXTRA_CA_CERTS" "certificates.configMap" "AGENTLENS_GATEWAY_DRAIN_SECONDS" "drainSeconds" -}}
{{- range $own }}{{ $_ := set $sources .name (list (get $values .name | default "the chart")) }}{{ end -}}
{{- $settings := list -}}
{{- range $name, $value := .root.Values.settings -}}
{{- $settings = append $settings (dict "name" $name "value" (include "agentlens.text" $value)) -}}
{{- $_ := set $sources $name (append (get $sources $name | default list) (printf "settings.%s" $name)) -}}
{{- end -}}
{{- $workload := (.workload | default dict).env | default list -}}
{{- range .root.Values.extraEnv }}{{ $_ := set $sources .name (append (get $sources .name | default list) "extraEnv") }}{{ end -}}
{{- range $workload }}{{ $_ := set $sources .name (append (get $sources .name | default list) (printf "%s.env" $.place)) }}{{ end -}}
{{- range $name, $places := $sources -}}
{{- if gt (len $places) 1 }}{{ fail (printf "%s is set twice for %s, by %s. Remove one" $name $.place (join " and by " $places)) }}{{ end -}}
{{- end -}}
{{- concat $own $settings .root.Values.extraEnv $workload | toYaml -}}
{{- end -}}

{{/* The variables that the chart sets itself. */}}
{{- define "agentlens.ownEnv" -}}
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
{{- end -}}

{{/* envFrom of a workload. */}}
{{- define "agentlens.envFrom" -}}
{{- with (. | default dict).envFrom  -}}
envFrom:
  {{- toYaml . | nindent 2 }}
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

{{/* Rules of a policy: names, and the servers. */}}
{{- define "agentlens.toDns" -}}
- to:
    {{- toYaml .Values.networkPolicy.dns | nindent 4 }}
  ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- end -}}

{{- define "agentlens.toServers" -}}
{{- $rules := list -}}
{{- range $server, $port := dict "postgres" 5432 "nats" 4222 "redis" 6379 -}}
{{- if (get $.Values $server).bundled -}}
{{- $labels := include "agentlens.selector" (dict "root" $ "name" $server) | fromYaml -}}
{{- $to := list (dict "podSelector" (dict "matchLabels" $labels)) -}}
{{- $rules = append $rules (dict "to" $to "ports" (list (dict "port" $port))) -}}
{{- end -}}
{{- end -}}
{{- $networks := list -}}
{{- range .Values.networkPolicy.servers }}{{ $networks = append $networks (dict "ipBlock" (dict "cidr" .)) }}{{ end -}}
{{- $ports := list -}}
{{- range include "agentlens.serverPorts" . | fromJsonArray }}{{ $ports = append $ports (dict "port" (int .)) }}{{ end -}}
{{- if and $networks $ports }}{{ $rules = append $rules (dict "to" $networks "ports" $ports) }}{{ end -}}
{{- with $rules }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* Ports of the servers outside of this release, from their addresses, as JSON. */}}
{{- define "agentlens.serverPorts" -}}
{{- $ports := .Values.networkPolicy.serverPorts -}}
{{- if not .Values.postgres.bundled }}{{ $ports = append $ports .Values.postgres.port }}{{ end -}}
{{- if not .Values.nats.bundled -}}
{{- range .Values.nats.urls }}{{ $ports = append $ports (include "agentlens.port" (dict "url" . "default" 4222)) }}{{ end -}}
{{- end -}}
{{- if not .Values.redis.bundled }}{{ $ports = append $ports (include "agentlens.port" (dict "url" .Values.redis.url "default" 6379)) }}{{ end -}}
{{- $numbers := list -}}
{{- range $ports }}{{ $numbers = append $numbers (int .) }}{{ end -}}
{{- $numbers | uniq | toJson -}}
{{- end -}}

{{- define "agentlens.port" -}}
{{- regexFind ":[0-9]+$" (urlParse .url).host | trimPrefix ":" | default .default -}}
{{- end -}}
