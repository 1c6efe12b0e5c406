import { resolve } from 'node:path';
import { deniedFiles, deniedHttp, deniedShell } from './denied-host.ts';
import { FileSandbox } from './file-sandbox.ts';
import type { Host } from './host.ts';
import { HttpHost, type HttpHostOptions } from './http-host.ts';
import type { SecretSource } from './secret.ts';
import { ShellHost } from './shell-host.ts';

export interface LocalHostOptions {
  /** The folder the agent works in. */
  readonly root: string;
  readonly files?: 'none' | 'read' | 'write';
  /** Protected files (`.env`, keys, `.git`) that may be used after all, as globs. */
  readonly unprotect?: readonly string[];
  readonly shell?: boolean | { readonly environment: Readonly<Record<string, string>> };
  readonly network?: Omit<HttpHostOptions, 'secrets'>;
  readonly secrets?: SecretSource;
}

/** This machine, opened as far as the options say. A gate, not a sandbox: what a program does is up to the system. */
export function localHost({ root, files = 'none', unprotect, shell, network, secrets }: LocalHostOptions): Host {
  const http =
    network === undefined ? null : new HttpHost({ ...network, ...(secrets === undefined ? {} : { secrets }) });
  const environment = typeof shell === 'object' ? shell.environment : {};
  return {
    files:
      files === 'none'
        ? deniedFiles
        : new FileSandbox({ root, writable: files === 'write', ...(unprotect === undefined ? {} : { unprotect }) }),
    shell: shell === undefined || shell === false ? deniedShell : new ShellHost({ folder: resolve(root), environment }),
    http: http ?? deniedHttp,
    close: async () => http?.close(),
  };
}
