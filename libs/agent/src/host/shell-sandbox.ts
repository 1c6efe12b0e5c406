import { spawnSync } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { AgentError } from '../core/agent-error.ts';

export interface ShellSandboxOptions {
  /** The only folder that commands can write to. */
  readonly folder: string;
  /** True: commands reach the network. */
  readonly network: boolean;
}

/** Wraps a program with its arguments so that the operating system confines it. */
export type Confine = (program: string, args: readonly string[]) => readonly [string, ...string[]];

const PROBE_TIMEOUT_MS = 5_000;
const BWRAP = ['/usr/bin/bwrap', '/bin/bwrap', '/usr/local/bin/bwrap'];
const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/**
 * The sandbox of this system: bubblewrap on Linux, `sandbox-exec` on macOS. Commands write only to the folder and a
 * temporary one, cannot see the rest of the home folder, and reach the network only if the options allow it.
 *
 * @throws AgentError `denied_by_host` if there is no sandbox or it does not work
 */
export function shellSandbox(options: ShellSandboxOptions, platform: NodeJS.Platform = process.platform): Confine {
  const confine = platform === 'linux' ? bubblewrap(options) : platform === 'darwin' ? seatbelt(options) : undefined;
  if (confine === undefined)
    throw new AgentError(
      'denied_by_host',
      'this system has no sandbox for the shell: install bubblewrap, or use sandbox: "none"',
    );
  const [program, ...args] = confine('/bin/sh', ['-c', ':']);
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8', timeout: PROBE_TIMEOUT_MS, env: {} });
  if (status !== 0)
    throw new AgentError(
      'denied_by_host',
      `the sandbox of the shell does not work here: ${error?.message ?? stderr.trim()}`,
    );
  return confine;
}

function bubblewrap({ folder, network }: ShellSandboxOptions): Confine | undefined {
  const bwrap = BWRAP.find((path) => existsSync(path));
  if (bwrap === undefined) return undefined;
  const own = realpathSync(folder);
  const hidden = [homedir(), '/root', '/home', '/run', '/var/run', '/mnt', '/media'].filter((path) => existsSync(path));
  const around = [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--ro-bind', '/', '/'],
    ...['--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp', '--tmpfs', '/var/tmp'],
    ...[...new Set(hidden.map((path) => realpathSync(path)))].flatMap((path) => ['--tmpfs', path]),
    // Last, because the folder may be inside one of those.
    ...['--bind', own, own, '--chdir', own, ...(network ? ['--share-net', ...resolverOf()] : [])],
  ];
  return (program, args) => [bwrap, ...around, '--', program, ...args];
}

/** The resolver configuration may be a link into a hidden folder. */
function resolverOf(): readonly string[] {
  const file = '/etc/resolv.conf';
  if (!existsSync(file)) return [];
  const real = realpathSync(file);
  return real === file ? [] : ['--ro-bind', real, real];
}

function seatbelt({ folder, network }: ShellSandboxOptions): Confine | undefined {
  if (!existsSync(SANDBOX_EXEC)) return undefined;
  const profile = [
    '(version 1)(allow default)(deny file-write*)(deny file-read* (subpath (param "HOME")))',
    '(allow file-read* file-write* (subpath (param "FOLDER")))',
    '(allow file-write* (subpath "/private/tmp")(subpath "/private/var/folders")(literal "/dev/null")(literal "/dev/tty"))',
    ...(network ? [] : ['(deny network*)']),
  ].join('\n');
  const params = ['-D', `HOME=${realpathSync(homedir())}`, '-D', `FOLDER=${realpathSync(folder)}`];
  return (program, args) => [SANDBOX_EXEC, ...params, '-p', profile, program, ...args];
}
