import { resolve } from 'node:path';
import { FileSandbox } from './file-sandbox.ts';
import { deniedFiles, deniedHttp, deniedShell, type Host, type SecretSource } from './host.ts';
import { HttpHost, type HttpHostOptions } from './http-host.ts';
import { ShellHost } from './shell-host.ts';
import { type Confine, shellSandbox } from './shell-sandbox.ts';

export interface LocalShellOptions {
  /** Additional variables for commands. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * `required`: commands run in the operating system's sandbox, or the host cannot be created. `if-available`: in the
   * sandbox if there is one. `none` (default): commands can do everything that this process can.
   */
  readonly sandbox?: 'required' | 'if-available' | 'none';
  /** True: commands in a sandbox reach the network. */
  readonly network?: boolean;
}

export interface LocalHostOptions {
  /** The folder the agent works in. */
  readonly root: string;
  readonly files?: 'none' | 'read' | 'write';
  /** Protected files (`.env`, keys, `.git`) that may be used, as globs. */
  readonly unprotect?: readonly string[];
  readonly shell?: boolean | LocalShellOptions;
  readonly network?: Omit<HttpHostOptions, 'secrets'>;
  readonly secrets?: SecretSource;
}

/**
 * This machine, opened as far as the options allow. A gate; only a shell with `sandbox: 'required'` confines programs.
 *
 * @throws AgentError `denied_by_host` if a required sandbox is not available
 */
export function localHost({ root, files = 'none', unprotect, shell, network, secrets }: LocalHostOptions): Host {
  const http =
    network === undefined ? null : new HttpHost({ ...network, ...(secrets === undefined ? {} : { secrets }) });
  return {
    files:
      files === 'none'
        ? deniedFiles
        : new FileSandbox({ root, writable: files === 'write', ...(unprotect === undefined ? {} : { unprotect }) }),
    shell: shell === undefined || shell === false ? deniedShell : shellOf(resolve(root), shell === true ? {} : shell),
    http: http ?? deniedHttp,
    close: async () => http?.close(),
  };
}

function shellOf(
  folder: string,
  { environment = {}, sandbox = 'none', network = false }: LocalShellOptions,
): ShellHost {
  const confine = confineOf(folder, sandbox, network);
  return new ShellHost({ folder, environment, ...(confine === undefined ? {} : { confine }) });
}

function confineOf(
  folder: string,
  sandbox: NonNullable<LocalShellOptions['sandbox']>,
  network: boolean,
): Confine | undefined {
  if (sandbox === 'none') return undefined;
  try {
    return shellSandbox({ folder, network });
  } catch (error) {
    if (sandbox === 'required') throw error;
    return undefined;
  }
}
