import { spawn } from 'node:child_process';
import { withoutOwnVariables } from '@agentlens/sdk/adapter';
import type { Child, Options, SpawnOptions } from './shapes.ts';

/**
 * Starts the framework's process as it does itself, and keeps hold of it: aborting a query closes only its input, and
 * within the two seconds that it then has, it makes further model calls.
 */
export class KillableProcess {
  readonly #options: Options;
  #child: Child | undefined;

  constructor(options: Options) {
    this.#options = options;
  }

  readonly spawn = ({ command, args, cwd, env: given, signal }: SpawnOptions): unknown => {
    // Its tools run commands of the model's, which must not answer for the agent.
    const env = withoutOwnVariables(given);
    const { stderr, spawnClaudeCodeProcess: own } = this.#options;
    // Started by the user's own means, such as on another machine: ended by its own `kill`.
    const child =
      (own?.({ command, args, cwd, env, signal }) as Child | undefined) ??
      spawn(command, args, { cwd, env, signal, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });
    if (own === undefined) child.stderr?.on('data', (text: Buffer) => stderr?.(text.toString()));
    this.#child = child;
    return child;
  };

  kill(): void {
    this.#child?.kill('SIGKILL');
  }
}
