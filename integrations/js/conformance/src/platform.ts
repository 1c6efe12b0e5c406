import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { AgentLens, type AgentLensClient, isAgentStopped } from '@agentlens/sdk';
import type { AgentSpec, Driver, Outcome, ToolSpec } from './driver.ts';
import { TOKENS } from './driver.ts';
import { use } from './world.ts';

/** Address and API key of a running platform, provided by the test runner. */
export interface Platform {
  readonly url: string;
  readonly key: string;
}

/** Rules that `prepare` creates. They match by the end of a tool's name. */
const RULES = [
  { name: 'kit blocks', value: '*kit_blocked', actionType: 'block' },
  { name: 'kit ends', value: '*kit_ended', actionType: 'terminate_run' },
  { name: 'kit asks', value: '*kit_asked', actionType: 'require_approval' },
] as const;

const DEADLINE_MS = 30_000;
const EVERY_MS = 100;

interface TimelineEntry {
  readonly kind?: string;
  readonly type?: string;
  readonly [field: string]: unknown;
}

export function platformOf(env: Readonly<Record<string, string | undefined>>): Platform | undefined {
  const { AGENTLENS_KIT_URL: url, AGENTLENS_KIT_KEY: key } = env;
  return url && key ? { url, key } : undefined;
}

/** Operator's client for the platform. */
export class Operator {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await fetch(this.#platform.url + path, {
      method,
      headers: { authorization: `Bearer ${this.#platform.key}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    const text = await answer.text();
    assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as T;
  }

  /** Creates the rules once for all adapters and waits until they are in force. */
  async prepare(lens: AgentLensClient): Promise<void> {
    const { rules } = await this.call<{ rules: { name: string }[] }>('GET', '/api/guardrails');
    for (const { name, value, actionType } of RULES.filter((rule) => !rules.some((known) => known.name === rule.name)))
      await this.call('POST', '/api/guardrails', {
        ...{ name, conditionType: 'tool_name', conditionConfig: { value }, actionType, actionConfig: {} },
      });
    const run = await lens.startRun();
    await eventually(async () => {
      for (const { value } of RULES)
        assert.equal((await run.beforeTool(value.slice(1), {})).verdict, 'BLOCK', `${value} is not in force`);
    });
    await run.end('interrupted');
  }

  async approve(runId: string): Promise<void> {
    const { alerts } = await eventually(async () => {
      const found = await this.call<{ alerts: { id: string }[] }>('GET', `/api/alerts?kind=approval&runId=${runId}`);
      assert.equal(found.alerts.length, 1);
      return found;
    });
    await this.call('POST', `/api/alerts/${alerts[0]?.id}/approve`, { reason: 'looked at' });
  }

  /** Returns the id of the agent's only run, once it has begun. */
  async runOf(agentId: string): Promise<string> {
    return eventually(async () => {
      const { runs } = await this.call<{ runs: { id: string }[] }>('GET', `/api/runs?agentId=${agentId}`);
      assert.equal(runs.length, 1);
      return runs[0]?.id ?? '';
    });
  }

  kill(runId: string): Promise<unknown> {
    const order = { scope: 'run', id: runId, state: 'killed', reason: 'enough', waitMs: 5_000 };
    return this.call('POST', '/api/control', order);
  }

  /** Returns a run and its timeline once it has ended. */
  async ended(runId: string) {
    const run = await eventually(async () => {
      const found = await this.call<{ status: string; totals: Record<string, number> }>('GET', `/api/runs/${runId}`);
      assert.notEqual(found.status, 'running');
      return found;
    });
    const { entries } = await this.call<{ entries: TimelineEntry[] }>('GET', `/api/runs/${runId}/timeline?limit=500`);
    return { ...run, entries };
  }
}

/** Retries until the check passes or the deadline has passed. */
async function eventually<T>(check: () => Promise<T>): Promise<T> {
  const until = performance.now() + DEADLINE_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > until) throw error;
      await wait(EVERY_MS);
    }
  }
}

/** Tests the adapter against a running platform: what the agent did, and what the platform recorded. */
export function conformOnPlatform(driver: Driver, platform: Platform): void {
  const operator = new Operator(platform);
  let lens: AgentLensClient;

  async function play(runId: string, agent: AgentSpec): Promise<Outcome> {
    const options = { run: () => ({ runId }), waitForApproval: { timeoutMs: DEADLINE_MS, pollMs: EVERY_MS } };
    return driver.run(driver.guard(lens, driver.framework, options), agent);
  }

  /** Returns tools that record that they ran. */
  function toolsNoting(effects: string[], ...names: readonly string[]): ToolSpec[] {
    return names.map((name) => ({ name, execute: () => `effect ${effects.push(name)}` }));
  }

  void describe(`${driver.package} with ${driver.name} on a running platform`, () => {
    before(async () => {
      const agent = { slug: driver.package.replaceAll(/[^a-z0-9]+/g, '-').replace(/^-/, '') };
      lens = await AgentLens.init({ apiKey: platform.key, baseUrl: platform.url, agent, deadlineMs: 10_000 });
      await operator.prepare(lens);
    });
    after(() => lens.shutdown());

    void it('rejects one call, makes the other, and records one decision for each', async () => {
      const [runId, effects] = [randomUUID(), [] as string[]];
      const turns = [[use('c1', 'kit_blocked')], [use('c2', 'kit_free')], ['Done.']];
      const { text } = await play(runId, { turns, tools: toolsNoting(effects, 'kit_blocked', 'kit_free') });
      assert.equal(text, 'Done.');
      assert.deepEqual(effects, ['kit_free']);
      const { status, totals, entries } = await operator.ended(runId);
      assert.equal(status, 'succeeded');
      assert.deepEqual([totals.inputTokens, totals.outputTokens], [3 * TOKENS.input, 3 * TOKENS.output]);
      const decided = JSON.stringify(entries).match(/"tool\.decision"/g) ?? [];
      assert.equal(decided.length, 2, JSON.stringify(entries));
    });

    void it('ends the run if a rule requires it', async () => {
      const [runId, effects] = [randomUUID(), [] as string[]];
      const turns = [[use('c1', 'kit_ended')], [use('c2', 'kit_free')], ['Done.']];
      const { error } = await play(runId, { turns, tools: toolsNoting(effects, 'kit_ended', 'kit_free') });
      assert.ok(isAgentStopped(error), String(error));
      assert.deepEqual(effects, []);
      assert.equal((await operator.ended(runId)).status, 'interrupted');
    });

    void it('makes a call after a human approved it', async () => {
      const [runId, effects] = [randomUUID(), [] as string[]];
      const turns = [[use('c1', 'kit_asked')], ['Done.']];
      const playing = play(runId, { turns, tools: toolsNoting(effects, 'kit_asked') });
      await operator.approve(runId);
      assert.equal((await playing).text, 'Done.');
      assert.deepEqual(effects, ['kit_asked']);
    });

    void it('makes no further call after an operator killed the run', async () => {
      const [runId, effects] = [randomUUID(), [] as string[]];
      const slow: ToolSpec = { name: 'kit_slow', execute: () => operator.kill(runId) };
      const turns = [[use('c1', 'kit_slow')], [use('c2', 'kit_free')], ['Done.']];
      const { requests } = await play(runId, { turns, tools: [slow, ...toolsNoting(effects, 'kit_free')] });
      assert.equal(requests.length, 1);
      assert.deepEqual(effects, []);
      await operator.ended(runId);
    });
  });
}
