import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { AgentError } from '../core/agent-error.ts';
import type { HostShell, ShellResult, ShellRun } from './host.ts';
import type { Confine } from './shell-sandbox.ts';

export interface ShellHostOptions {
  /** Working folder of commands. */
  readonly folder: string;
  /** Additional variables for commands. Never the agent's own environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Wraps bash in the operating system's sandbox. */
  readonly confine?: Confine;
}

const BASH = ['/bin/bash', '/usr/bin/bash', '/usr/local/bin/bash'];
/**
 * Variables of the agent's environment that commands receive: no keys, and nothing that makes the shell run other code.
 */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'USER', 'LOGNAME'];
const NEVER = /^(?:BASH_ENV|ENV|BASH_FUNC_.*|LD_.*|DYLD_.*|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|IFS)$/;
const KILL_AFTER_MS = 2_000;

/** Runs commands in the shell they were parsed for, and ends their whole process group together. */
export class ShellHost implements HostShell {
  readonly #folder: string;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #confine: Confine;

  constructor({ folder, environment = {}, confine = (program, args) => [program, ...args] }: ShellHostOptions) {
    const refused = Object.keys(environment).find((name) => NEVER.test(name));
    if (refused !== undefined)
      throw new AgentError('invalid_config', `the variable ${refused} would change what the shell runs`);
    this.#folder = folder;
    this.#confine = confine;
    const passed = PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
    this.#environment = { ...Object.fromEntries(passed), TERM: 'dumb', GIT_PAGER: 'cat', PAGER: 'cat', ...environment };
  }

  async run(run: ShellRun): Promise<ShellResult> {
    run.signal.throwIfAborted();
    const bash = process.platform === 'win32' ? undefined : BASH.find((path) => existsSync(path));
    if (bash === undefined) throw new AgentError('denied_by_host', 'this machine has no bash');
    const [program, ...args] = this.#confine(bash, ['--norc', '--noprofile', '-c', run.command]);
    const child = spawn(program, args, {
      ...{ cwd: this.#folder, env: this.#environment, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return watch(child, run);
  }
}

function watch(child: ChildProcess, { timeoutMs, signal, maxChars, onOutput }: ShellRun): Promise<ShellResult> {
  return new Promise((resolve, reject) => {
    const output = new CappedText(maxChars);
    let timedOut = false;
    let lastKill: NodeJS.Timeout | undefined;
    const end = () => {
      killGroup(child, 'SIGTERM');
      lastKill = setTimeout(() => killGroup(child, 'SIGKILL'), KILL_AFTER_MS);
    };
    const timer = setTimeout(() => {
      timedOut = true;
      end();
    }, timeoutMs);
    signal.addEventListener('abort', end, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      const decoder = new StringDecoder('utf8');
      stream?.on('data', (bytes: Buffer) => {
        const text = decoder.write(bytes);
        if (output.add(text)) onOutput?.(text);
      });
    }
    const settle = () => {
      clearTimeout(timer);
      clearTimeout(lastKill);
      signal.removeEventListener('abort', end);
    };
    child.once('error', (error) => {
      settle();
      reject(new AgentError('tool_failed', `the shell did not start: ${error.message}`));
    });
    // Background processes would hold the pipes open and continue unseen.
    child.once('exit', () => killGroup(child, 'SIGKILL'));
    child.once('close', (exitCode) => {
      settle();
      if (signal.aborted && !timedOut) reject(signal.reason);
      else resolve({ exitCode, output: output.text, truncated: output.truncated, timedOut });
    });
  });
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // The group has already exited.
  }
}

class CappedText {
  text = '';
  truncated = false;
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** False when no more is accepted. */
  add(text: string): boolean {
    if (this.truncated) return false;
    const room = this.#most - this.text.length;
    this.text += text.slice(0, room);
    this.truncated = text.length > room;
    return true;
  }
}
