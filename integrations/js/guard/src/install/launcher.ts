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
 * The program that hosts run as their hook. It asks the resident over its socket; Node starts only if no resident
 * answers. Output is printed once and whole, because hosts treat half an answer as none.
 */
export function launcherText(paths: GuardPaths, stateFolder: string, runtime: HookRuntime): string {
  const { node, nodeArgs, entry } = runtime;
  const words = [...nodeArgs, entry, '--folder', paths.folder, '--state', stateFolder];
  return `#!/bin/sh
# Written by "agentlens guard". Do not edit: remove it with "agentlens guard off --all".
in=$(cat; echo x); in=\${in%x}
${askLines(quoted(paths.socket))}
if [ ! -x ${quoted(node)} ] || [ ! -f ${quoted(entry)} ]; then
  echo "AgentLens is not installed any more. Run 'agentlens guard off --all', or delete ${paths.folder}" >&2; exit 2
fi
printf %s "$in" | ${[node, ...words].map(quoted).join(' ')} hook "$1" "$2" "$3" "$PPID"
`;
}

/** Asks the resident; goes on only if that fails at once. @param socket its address as a word of the shell */
function askLines(socket: string): string {
  return `out=$(printf %s "$in" | curl -q -sSf --noproxy '*' -m "$3" --unix-socket ${socket} -H "x-guard-parent: $PPID" --data-binary @- "http://guard/$1/$2" 2>/dev/null)
code=$?
if [ $code -eq 0 ]; then printf %s "$out"; exit 0; fi
if [ $code -eq 28 ]; then echo "AgentLens did not answer within $3 s" >&2; exit 2; fi`;
}

/** Where an administrator puts the launcher and the program. */
export const MANAGED_FOLDER = '/etc/agentlens-guard';

/** The launcher of managed settings: one file for all users, whose sockets and keys are in their own homes. */
export function managedLauncherText(node: string, entry: string): string {
  return `#!/bin/sh
# Written by "agentlens guard install --managed". The home comes from the user database, not from the environment.
in=$(cat; echo x); in=\${in%x}
home=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6); [ -n "$home" ] || home=$HOME
folder=$home/.config/agentlens/guard
${askLines('"$folder/sock"')}
printf %s "$in" | ${quoted(node)} ${quoted(entry)} --folder "$folder" --state "$home/.local/state/agentlens/guard" --managed ${MANAGED_FOLDER}/guard.json hook "$1" "$2" "$3" "$PPID"
`;
}

const CLOSED = 'AgentLens cannot decide about this call, so it is refused. Run: agentlens guard status';

/** The command of one hook event. In enforce mode every failure of the launcher refuses the call. */
export function hookCommand(launcher: string, host: HostId, event: string, settings: HostSettings): string {
  const start = `${quoted(launcher)} ${host} ${event} ${launcherSeconds(settings)}`;
  if (settings.mode === 'observe') return `${start} || true`;
  return `${start} || { echo ${quoted(CLOSED)} >&2; exit 2; }`;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
