import assert from 'node:assert/strict';
import type { AgentLensClient, AgentLensOptions } from '@agentlens/sdk';
import { isAgentStopped } from '@agentlens/sdk';
import type { GuardOptions } from '@agentlens/sdk/adapter';
import { type RecordedEvent, TestPlatform } from '@agentlens/sdk/testing';
import type { AgentSpec, Driver, NestedSpec, Outcome, ToolSpec, ToolUse } from './driver.ts';

/** Real clock, for code that waits for a deadline. */
const CLOCK = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  timer(run: () => void, ms: number, holding = false) {
    const timer = setTimeout(run, ms);
    if (!holding) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Bounds a failing test; a passing one proceeds when its event arrives. */
const MAX_EVENT_WAIT_MS = 20_000;

export type Arguments = Readonly<Record<string, unknown>>;

/** Environment of one scenario: a server, a client, the framework under test, and the side effects of its tools. */
export class World {
  readonly driver: Driver;
  readonly server = new TestPlatform();
  /** The paths that the tool `write` has written. */
  readonly effects: string[] = [];
  readonly warnings: string[] = [];
  #lens: AgentLensClient | undefined;

  constructor(driver: Driver) {
    this.driver = driver;
  }

  /** Tool that records the path it writes. */
  get write(): ToolSpec {
    return this.tool('write', ({ path }) => {
      this.effects.push(String(path));
      return `written: ${String(path)}`;
    });
  }

  tool(name: string, execute: NonNullable<ToolSpec['execute']>): ToolSpec {
    return { name, execute };
  }

  async client(options: Partial<AgentLensOptions> = {}): Promise<AgentLensClient> {
    this.#lens ??= await this.server.client({
      deadlineMs: 200,
      drainMs: 300,
      logger: { warn: (message) => this.warnings.push(message) },
      ...options,
      runtime: { clock: CLOCK, ...options.runtime },
    });
    return this.#lens;
  }

  /** Returns the guarded framework. */
  async guarded(options?: GuardOptions, client?: Partial<AgentLensOptions>): Promise<object> {
    return this.driver.guard(await this.client(client), this.driver.framework, options);
  }

  async run(agent: AgentSpec, options?: GuardOptions, client?: Partial<AgentLensOptions>): Promise<Outcome> {
    return this.driver.run(await this.guarded(options, client), agent);
  }

  async nested(agents: NestedSpec, options?: GuardOptions): Promise<Outcome> {
    assert.ok(this.driver.nested, 'the driver has no nested agents and gives no reason');
    return this.driver.nested(await this.guarded(options), agents);
  }

  async handOff(agents: NestedSpec): Promise<Outcome> {
    assert.ok(this.driver.handOff, 'the driver has no hand-off and gives no reason');
    return this.driver.handOff(await this.guarded(), agents);
  }

  events(kind: string): readonly RecordedEvent[] {
    return this.server.eventsOf(kind);
  }

  /** Resolves when the platform has this number of events of a kind; rejects after a timeout. */
  async arrived(kind: string, count: number): Promise<void> {
    const late = AbortSignal.timeout(MAX_EVENT_WAIT_MS);
    while (this.events(kind).length < count) {
      assert.ok(!late.aborted, `${this.events(kind).length} of ${count} events ${kind} arrived`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Returns the recorded messages of a kind. */
  messages(kind: 'input' | 'output' | 'tool_result'): readonly string[] {
    const all = this.events('message.raw.created').filter(({ data }) => data.kind === kind);
    return all.map(({ data }) => String(data.content));
  }

  get statuses(): readonly string[] {
    return this.server.runs.map(({ status }) => status);
  }

  async close(): Promise<void> {
    await this.#lens?.shutdown();
  }
}

export const use = (id: string, tool: string, args: Arguments = {}): ToolUse => ({ id, tool, args });
export const write = (id: string, path: string): ToolUse => use(id, 'write', { path });

export function assertStopped(error: unknown): asserts error is Error {
  assert.ok(isAgentStopped(error), `the caller should receive AgentStopped, received ${String(error)}`);
}

/** Asserts that every request has one decision and every executed call one result, under the same id. */
export function assertCalls(world: World, expected: Readonly<Record<string, 'ran' | 'refused'>>): void {
  const ids = (kind: string) => world.events(kind).map(({ data }) => String(data.callId));
  const tails = (found: readonly string[]) => found.map((id) => id.split(':').at(-1)).toSorted(byText);
  const ran = Object.entries(expected).flatMap(([id, what]) => (what === 'ran' ? [id] : []));
  assert.deepEqual(tails(ids('tool.decision')), Object.keys(expected).toSorted(byText), 'one decision per call');
  assert.deepEqual(tails(ids('tool.result')), ran.toSorted(byText), 'one result per executed call');
}

function byText(one = '', other = ''): number {
  return one < other ? -1 : 1;
}
