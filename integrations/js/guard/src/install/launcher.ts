import { dirname } from 'node:path';
import type { HostId } from '../hosts/host.ts';
import type { GuardPaths, HostSettings } from '../state.ts';

/** How to start the slow path: Node, its options, and the entry file. */
export interface HookRuntime {
  readonly node: string;
  readonly nodeArgs: readonly string[];
  readonly entry: string;
}

/** Seconds between the answers of the resident, of the launcher, and the timeout of the host. */
const LAUNCHER_EXTRA_SECONDS = 5;
const HOST_EXTRA_SECONDS = 15;
/** An observed call never waits: it is only reported. */
const OBSERVED_SECONDS = 5;

export function launcherSeconds({ mode, wait }: HostSettings): number {
  return mode === 'enforce' ? wait + LAUNCHER_EXTRA_SECONDS : OBSERVED_SECONDS;
}

export function hostTimeoutSeconds({ mode, wait }: HostSettings): number {
  return mode === 'enforce' ? wait + HOST_EXTRA_SECONDS : OBSERVED_SECONDS * 3;
}

/**
 * Variables that reach the guard from the environment of a session. The others could decide its answer: a PATH with
 * another curl, NODE_OPTIONS, BASH_ENV, an exported function.
 */
const KEPT_VARIABLES = [
  ...['HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'AGENTLENS_ACTOR'],
  ...['XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR'],
  ...['NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
  ...['http_proxy', 'https_proxy', 'no_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'ALL_PROXY'],
];
/** Folders that only an administrator writes to. */
const SYSTEM_PATH = '/usr/bin:/bin:/run/current-system/sw/bin';

/** Runs `main` with its words in a shell that inherits neither functions nor a PATH. */
function inCleanShell(main: string): string {
  const kept = KEPT_VARIABLES.map((name) => `\${${name}+"${name}=$${name}"}`).join(' ');
  return `exec /usr/bin/env -i PATH=${SYSTEM_PATH} ${kept} /bin/sh -c ${quoted(main)} agentlens-hook "$@"`;
}

/**
 * The program that hosts run as their hook. It asks the resident over its socket; Node starts only if no resident
 * answers. Output is printed once and whole, because hosts treat half an answer as none.
 */
export function launcherText(paths: GuardPaths, stateFolder: string, runtime: HookRuntime): string {
  const { node, nodeArgs, entry } = runtime;
  const words = [...nodeArgs, entry, '--folder', paths.folder, '--state', stateFolder];
  const main = `in=$(cat; echo x); in=\${in%x}
${askLines(quoted(paths.socket), quoted(dirname(paths.socket)))}
if [ ! -x ${quoted(node)} ] || [ ! -f ${quoted(entry)} ]; then
  printf '%s\\n' ${quoted(`AgentLens is not installed any more. Run 'agentlens guard off --all', or delete ${paths.folder}`)} >&2; exit 2
fi
printf %s "$in" | ${[node, ...words].map(quoted).join(' ')} hook "$1" "$2" "$3" "$PPID"`;
  return `#!/bin/sh
# Written by "agentlens guard". Do not edit: remove it with "agentlens guard off --all".
${inCleanShell(main)}
`;
}

/**
 * Asks the resident; goes on only if that fails at once. Status 200 carries the output, 403 a refusal: the output, and
 * from its second line on the reason. @param socket its address as a word of the shell @param folder the folder of it
 */
function askLines(socket: string, folder: string): string {
  return `nl='
'
if [ -O ${folder} ]; then
  out=$(printf %s "$in" | curl -q -sS --noproxy '*' -m "$3" --unix-socket ${socket} -H "x-guard-parent: $PPID" --data-binary @- -w '\\n%{http_code}' "http://guard/$1/$2" 2>/dev/null)
  code=$?
  status=\${out##*"$nl"}; body=\${out%"$nl"*}
  if [ $code -eq 28 ]; then echo "AgentLens did not answer within $3 s" >&2; exit 2; fi
  if [ $code -eq 0 ] && [ "$status" = 200 ]; then printf %s "$body"; exit 0; fi
  if [ $code -eq 0 ] && [ "$status" = 403 ]; then
    printf %s "\${body%%"$nl"*}"; printf '%s\\n' "\${body#*"$nl"}" >&2; exit 2
  fi
fi`;
}

/** Where an administrator puts the launcher and the program. */
export const MANAGED_FOLDER = '/etc/agentlens-guard';

/** The launcher of managed settings: one file for all users, whose sockets and keys are in their own homes. */
export function managedLauncherText(node: string, entry: string): string {
  const main = `in=$(cat; echo x); in=\${in%x}
home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6); [ -n "$home" ] || home=$HOME
folder=$home/.config/agentlens/guard
${askLines('"$folder/sock"', '"$folder"')}
printf %s "$in" | ${quoted(node)} ${quoted(entry)} --folder "$folder" --state "$home/.local/state/agentlens/guard" --managed ${MANAGED_FOLDER}/guard.json hook "$1" "$2" "$3" "$PPID"`;
  return `#!/bin/sh
# Written by "agentlens guard install --managed". The home comes from the user database, not from the environment.
${inCleanShell(main)}
`;
}

const CLOSED = 'AgentLens cannot decide about this call, so it is refused. Run: agentlens guard status';

/** The command of one hook event. In enforce mode every failure of the launcher refuses the call. */
export function hookCommand(launcher: string, host: HostId, event: string, settings: HostSettings): string {
  const start = `${quoted(launcher)} ${host} ${event} ${launcherSeconds(settings)}`;
  if (settings.mode === 'observe') return `${start} || true`;
  // With code 2 the launcher has said why.
  return `${start} || { [ $? -eq 2 ] || echo ${quoted(CLOSED)} >&2; exit 2; }`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
