import type { Guard } from '@agentlens/sdk/adapter';
import { isRecord, type Message } from './json-rpc.ts';
import { type Definition, type DefinitionChange, definePromptText, type PinMode, type Pins } from './pins.ts';

/** Kind of the event about a definition that is new or changed. */
export const DEFINITION_CHANGED = 'mcp.tool_definition';

export interface PinGuardSettings {
  readonly mode: PinMode;
  readonly pins: Pins;
  readonly server: string;
  /** Opens runs in which reviews are asked for; it waits for a person in every mode of the proxy's own guard. */
  readonly guard: Guard;
  readonly warn: (message: string) => void;
}

/** Records a change that needs no review, in the run of the client that saw it. */
type Note = (change: Readonly<Record<string, unknown>>) => void;

/** What the client has to list again after a review. */
export type ListKind = 'tools' | 'prompts';

/** A warning is for a terminal; a review has the whole difference. */
const MAX_WARNING_CHARS = 2_000;

/** Holds what a server says against what was accepted. One for all sessions of a proxy. */
export class PinGuard {
  readonly #settings: PinGuardSettings;
  readonly #reported = new Set<string>();

  constructor(settings: PinGuardSettings) {
    this.#settings = settings;
  }

  /** Why a tool must not be called, or a prompt not be read; undefined if it may. */
  refuses(kind: 'tool' | 'prompt', name: string): string | undefined {
    const { mode, pins, server } = this.#settings;
    if (mode !== 'quarantine' || pins.isAccepted(kind, name)) return undefined;
    pins.reload();
    if (pins.isAccepted(kind, name)) return undefined;
    return `The definition of ${server}.${name} is new or changed and waits for a review. List the ${kind}s again later.`;
  }

  /**
   * The answer to a list as the client may see it. `accepted` is called when a review added an entry, `note` about a
   * change without a review: it belongs to the run of the client, and makes none by itself.
   */
  listed(list: ListKind, answer: Message, accepted: () => void, note: Note): Message {
    const { mode, pins } = this.#settings;
    const entries = answer.result?.[list];
    if (mode === 'off' || !Array.isArray(entries)) return answer;
    pins.reload();
    const kind = list === 'tools' ? 'tool' : 'prompt';
    const believes = this.#believes(kind);
    const kept = entries.filter((fields) => {
      if (!isRecord(fields) || typeof fields.name !== 'string') return mode === 'warn';
      return this.#passes({ kind, name: fields.name, fields }, believes, accepted, note);
    });
    return kept.length === entries.length ? answer : { ...answer, result: { ...answer.result, [list]: kept } };
  }

  /** The answer to `initialize` or `server/discover`: clients put its `instructions` into the system prompt. */
  introduced(answer: Message, note: Note): Message {
    const { mode, pins } = this.#settings;
    const { instructions } = answer.result ?? {};
    if (mode === 'off' || instructions === undefined) return answer;
    pins.reload();
    const definition = { kind: 'instructions', name: 'instructions', fields: { instructions } } as const;
    if (this.#passes(definition, this.#believes('instructions'), () => undefined, note)) return answer;
    const { instructions: _held, ...result } = answer.result ?? {};
    return { ...answer, result };
  }

  /** Why the text of a prompt must not reach the client. The first text for a set of arguments is believed. */
  refusesText(prompt: string, args: unknown, result: Message['result'], note: Note): string | undefined {
    const { mode, pins, server } = this.#settings;
    if (mode === 'off' || result === undefined) return undefined;
    pins.reload();
    const definition = definePromptText(prompt, args, result);
    const isFirst = !pins.isPinned(definition.kind, definition.name);
    if (this.#passes(definition, isFirst, () => undefined, note)) return undefined;
    return `The text of ${server}.${prompt} changed and waits for a review.`;
  }

  /** In `warn` mode a server is believed the first time it says anything of a kind. */
  #believes(kind: Definition['kind']): boolean {
    const { mode, pins } = this.#settings;
    return mode === 'warn' && pins.isEmpty(kind);
  }

  #passes(definition: Definition, believes: boolean, accepted: () => void, note: Note): boolean {
    const { mode, pins } = this.#settings;
    const change = pins.see(definition);
    if (change === undefined) return true;
    if (!believes) this.#report(change, accepted, note);
    if (mode === 'warn' || believes) pins.accept(change);
    return mode === 'warn' || believes;
  }

  #report(change: DefinitionChange, accepted: () => void, note: Note): void {
    const { mode, server, warn } = this.#settings;
    const { kind, name, what, hash, difference } = change;
    const key = JSON.stringify([kind, name, hash]);
    if (this.#reported.has(key)) return;
    this.#reported.add(key);
    const outcome = mode === 'quarantine' ? ' It is hidden and refused until a person accepts it.' : '';
    const subject = kind === 'tool' ? `definition of ${server}.${name}` : `${kind} ${server}.${name}`;
    const shown = difference.map((line) =>
      line.length > MAX_WARNING_CHARS ? `${line.slice(0, MAX_WARNING_CHARS)}… (${line.length} characters)` : line,
    );
    warn(`the ${subject} ${kind === 'instructions' ? 'are' : 'is'} ${what}.${outcome}\n  ${shown.join('\n  ')}`);
    if (mode !== 'quarantine') {
      note({ server, tool: name, kind, what, hash, difference, quarantined: false });
      return;
    }
    this.#review(change, accepted).catch((error: unknown) => {
      this.#reported.delete(key);
      warn(
        `a review of ${server}.${name} could not be asked for: ${error instanceof Error ? error.message : String(error)}`,
      );
    });
  }

  /** A run of its own: a denied review ends no call of the client's. */
  async #review(change: DefinitionChange, accepted: () => void): Promise<void> {
    const { server, pins, guard, warn } = this.#settings;
    const { kind, name: tool, what, hash, difference } = change;
    const scope = await guard.open(undefined);
    try {
      scope.run.record(DEFINITION_CHANGED, { server, tool, kind, what, hash, difference, quarantined: true });
      let asked = false;
      const waiting = () => {
        asked = true;
        return () => undefined;
      };
      const name = `${server}.accept-tool-definition`;
      // The whole difference and the hash of the whole: the approval is for exactly this definition.
      const args = { tool, kind, what, hash, difference };
      const decision = await scope.tools.before({ name, args }, { waiting });
      if (decision.verdict !== 'ALLOW') return;
      if (!asked) {
        warn(`no rule asks a person about ${name}: add one with approval, or run agentlens-mcp accept`);
        return;
      }
      pins.reload();
      // What was accepted is what was shown: not what the server says by now.
      if (!pins.accept(change)) return;
      await scope.tools.after(decision.callId, { result: 'accepted' });
      accepted();
    } finally {
      await scope.end('success');
    }
  }
}
