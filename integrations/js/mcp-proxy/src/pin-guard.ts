import type { Guard } from '@agentlens/sdk/adapter';
import { isRecord, type Message } from './json-rpc.ts';
import type { DefinitionChange, PinMode, ToolPins } from './pins.ts';

/** Kind of the event about a definition that is new or changed. */
export const DEFINITION_CHANGED = 'mcp.tool_definition';

export interface PinGuardSettings {
  readonly mode: PinMode;
  readonly pins: ToolPins;
  readonly server: string;
  /** Opens runs in which reviews are asked for; it waits for a person in every mode of the proxy's own guard. */
  readonly guard: Guard;
  readonly warn: (message: string) => void;
}

/** Holds what a server says of its tools against what was accepted. One for all sessions of a proxy. */
export class PinGuard {
  readonly #settings: PinGuardSettings;
  readonly #reported = new Set<string>();

  constructor(settings: PinGuardSettings) {
    this.#settings = settings;
  }

  /** Why a tool must not be called; undefined if it may. */
  refuses(tool: string): string | undefined {
    const { mode, pins, server } = this.#settings;
    if (mode !== 'quarantine' || pins.isAccepted(tool)) return undefined;
    pins.reload();
    if (pins.isAccepted(tool)) return undefined;
    return `The definition of ${server}.${tool} is new or changed and waits for a review. List the tools again later.`;
  }

  /**
   * The answer to `tools/list` as the client may see it. `accepted` is called when a review added a tool, `note` about a
   * change without a review: it belongs to the run of the client, and makes none by itself.
   */
  listed(answer: Message, accepted: () => void, note: (change: Readonly<Record<string, unknown>>) => void): Message {
    const { mode, pins } = this.#settings;
    const tools = answer.result?.tools;
    if (mode === 'off' || !Array.isArray(tools)) return answer;
    pins.reload();
    // In `warn` mode a server is believed the first time.
    const isFirst = mode === 'warn' && pins.isEmpty;
    const kept = tools.filter((tool) => {
      if (!isRecord(tool) || typeof tool.name !== 'string') return mode === 'warn';
      const change = pins.see(tool);
      if (change === undefined) return true;
      if (!isFirst) this.#report(change, accepted, note);
      if (mode === 'warn') pins.accept(change.tool);
      return mode === 'warn';
    });
    return kept.length === tools.length ? answer : { ...answer, result: { ...answer.result, tools: kept } };
  }

  #report(
    change: DefinitionChange,
    accepted: () => void,
    note: (change: Readonly<Record<string, unknown>>) => void,
  ): void {
    const { mode, server, warn } = this.#settings;
    const { tool, what, difference } = change;
    const key = JSON.stringify(change);
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    const outcome = mode === 'quarantine' ? ' It is hidden and refused until a person accepts it.' : '';
    warn(`the definition of ${server}.${tool} is ${what}.${outcome}\n  ${difference.join('\n  ')}`);
    if (mode !== 'quarantine') {
      note({ server, tool, what, difference, quarantined: false });
      return;
    }
    this.#review(change, accepted).catch((error: unknown) => {
      this.#reported.delete(key);
      warn(
        `a review of ${server}.${tool} could not be asked for: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
  }

  /** A run of its own: a denied review ends no call of the client's. */
  async #review({ tool, what, difference }: DefinitionChange, accepted: () => void): Promise<void> {
    const { server, pins, guard, warn } = this.#settings;
    const scope = await guard.open(undefined);
    try {
      scope.run.record(DEFINITION_CHANGED, { server, tool, what, difference, quarantined: true });
      let asked = false;
      const waiting = () => {
        asked = true;
        return () => undefined;
      };
      const name = `${server}.accept-tool-definition`;
      const decision = await scope.tools.before({ name, args: { tool, what, difference } }, { waiting });
      if (decision.verdict !== 'ALLOW') return;
      if (!asked) {
        warn(`no rule asks a person about ${name}: add one with approval, or run agentlens-mcp accept`);
        return;
      }
      pins.reload();
      // What was accepted is what was shown.
      const now = pins.waiting.find((change) => change.tool === tool);
      if (now === undefined || JSON.stringify(now.difference) !== JSON.stringify(difference)) return;
      pins.accept(tool);
      await scope.tools.after(decision.callId, { result: 'accepted' });
      accepted();
    } finally {
      await scope.end('success');
    }
  }
}
