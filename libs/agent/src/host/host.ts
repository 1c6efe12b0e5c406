import { AgentError } from '../core/agent-error.ts';

/**
 * Name of a secret. Only the host's HTTP client knows its value, so no prompt, event, history or cassette contains it.
 */
export class Secret {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  toString(): string {
    return `[secret ${this.name}]`;
  }

  toJSON(): string {
    return this.toString();
  }
}

export function secret(name: string): Secret {
  return new Secret(name);
}

/** Source of secrets; undefined if there is no secret of this name. */
export type SecretSource = (name: string) => string | undefined | Promise<string | undefined>;

export const environmentSecrets: SecretSource = (name) => process.env[name];

export interface ReadFile {
  readonly text: string;
  /** SHA-256 of the whole file, hex. */
  readonly hash: string;
  readonly bytes: number;
}

export interface HostFiles {
  /** @throws AgentError `denied_by_host`, `tool_failed` (the file does not exist, is too large or is not text) */
  read(path: string): Promise<ReadFile>;
  /**
   * Replaces the whole file. `ifHash`: only if it still has this content; null: only if it does not exist. @throws
   * AgentError `conflict`
   */
  write(path: string, text: string, options?: { readonly ifHash?: string | null }): Promise<{ readonly hash: string }>;
  /** Files, relative to the root, sorted; at most `limit`. */
  list(pattern: string, options?: { readonly folder?: string; readonly limit?: number }): Promise<readonly string[]>;
  /** Resolves links; the result is relative to the root. */
  resolve(path: string): Promise<string>;
}

export interface ShellRun {
  readonly command: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly maxChars: number;
  readonly onOutput?: (text: string) => void;
}

export interface ShellResult {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly truncated: boolean;
  readonly timedOut: boolean;
}

export interface HostShell {
  /** @throws AgentError `denied_by_host`; the signal's reason when it is aborted */
  run(run: ShellRun): Promise<ShellResult>;
}

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string | Secret>>;
  readonly body?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface HostHttp {
  /** @throws AgentError `denied_by_host`, `tool_failed` (no response) */
  send(request: HttpRequest): Promise<HttpResponse>;
}

/** Everything through which tools reach the machine. */
export interface Host {
  readonly files: HostFiles;
  readonly shell: HostShell;
  readonly http: HostHttp;
  close(): Promise<void>;
}

const deny = (what: string) => (): Promise<never> =>
  Promise.reject(new AgentError('denied_by_host', `the host of this agent gives no access to ${what}`));

export const deniedFiles: HostFiles = {
  read: deny('files'),
  write: deny('writing files'),
  list: deny('files'),
  resolve: deny('files'),
};
export const deniedShell: HostShell = { run: deny('a shell') };
export const deniedHttp: HostHttp = { send: deny('the network') };

/** The default: no files, no shell, no network. */
export const deniedHost: Host = {
  files: deniedFiles,
  shell: deniedShell,
  http: deniedHttp,
  close: () => Promise.resolve(),
};
