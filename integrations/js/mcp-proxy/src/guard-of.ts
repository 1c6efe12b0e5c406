import type { AgentLensClient } from '@agentlens/sdk';
import { Guard, type GuardOptions } from '@agentlens/sdk/adapter';
import { PinGuard } from './pin-guard.ts';
import { type PinMode, Pins } from './pins.ts';

export interface ProxyOptions extends Omit<GuardOptions, 'run'> {
  /** The server's name in rules: its tools are `<server>.<tool>`. */
  readonly server: string;
  /** Between two messages to a client that waits for a human, ms. Default 5000. */
  readonly progressEveryMs?: number;
  /** Names of variables that the server gets, besides PATH, HOME and the like. It never inherits the proxy's others. */
  readonly environment?: readonly string[];
  /** What is done about tools, prompts and instructions that are new or changed; `file` keeps what was accepted. Absent: nothing. */
  readonly pin?: { readonly mode: PinMode; readonly file: string };
}

/** Waits for a human unless the options say otherwise: a client has no other way to ask again. */
export function guardOf(lens: AgentLensClient, options: ProxyOptions): Guard {
  const adapter = { name: '@agentlens/mcp-proxy', framework: 'mcp' };
  const { tags, subjects, waitForApproval = true, observe } = options;
  return new Guard(lens, adapter, { tags, subjects, waitForApproval, observe }, { seesModels: false });
}

/** Undefined if definitions are not pinned. @throws Error if the file of pins cannot be read */
export function pinGuardOf(lens: AgentLensClient, options: ProxyOptions): PinGuard | undefined {
  const { pin, server } = options;
  if (pin === undefined || pin.mode === 'off') return undefined;
  const guard = guardOf(lens, { ...options, waitForApproval: true });
  const pins = new Pins(pin.file, ({ message }) => guard.warn(`accepted definitions are not kept: ${message}`));
  return new PinGuard({ mode: pin.mode, pins, server, guard, warn: (message) => guard.warn(message) });
}
