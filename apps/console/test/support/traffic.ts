/** Agents that really talk to a platform: what tests and pictures are made of. */

export interface Target {
  readonly address: string;
  readonly key: string;
}

// Test data: any JSON.
// biome-ignore lint/suspicious/noExplicitAny: answers are read member by member
export type Json = any;

const PATIENCE_MS = 120_000;
const PAUSE_MS = 1_000;

/** Sends a request again while the platform answers 503, as it does while its database is slow; nothing was stored then. */
export async function patiently<T>(send: () => Promise<T>, readStatus: (answer: T) => number): Promise<T> {
  const lastMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await send();
    if (readStatus(answer) !== 503 || performance.now() > lastMs) return answer;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

export async function call({ address, key }: Target, method: string, path: string, body?: unknown): Promise<Json> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  };
  const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await patiently(
    () => fetch(address + path, request),
    ({ status }) => status,
  );
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`);
  return text === '' ? undefined : JSON.parse(text);
}

/** Asks again until the answer is as wanted. @throws if it is not after two minutes */
export async function until(ask: () => Promise<Json>, isWanted: (answer: Json) => boolean): Promise<Json> {
  const lastMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (performance.now() > lastMs) throw new Error(`not in time: ${JSON.stringify(answer).slice(0, 500)}`);
  }
}

let counter = 0;
const next = (prefix: string) => `${prefix}-${Date.now().toString(36)}${(counter++).toString(36)}`;

interface RunOptions {
  readonly agentId: string;
  readonly runId?: string;
  readonly startedMsAgo?: number;
  readonly task?: string;
  readonly actor?: string;
  readonly parentRunId?: string;
  readonly sessionId?: string;
}

/** One run, told as an agent tells it. Times lie in the past as far as they are given. */
export class Agent {
  readonly runId: string;
  readonly agentId: string;
  readonly #target: Target;
  readonly #events: object[] = [];
  #at: number;

  constructor(
    target: Target,
    { agentId, runId = next('run'), startedMsAgo = 0, task, actor, parentRunId, sessionId }: RunOptions,
  ) {
    this.#target = target;
    this.agentId = agentId;
    this.runId = runId;
    this.#at = Date.now() - startedMsAgo;
    this.#add(
      'session_started',
      { agentName: agentId, tags: task === undefined ? [] : [task] },
      {},
      task === undefined ? [] : [task],
    );
    this.startBody = {
      agentId,
      ...(actor === undefined ? {} : { actor: { externalId: actor } }),
      ...(parentRunId === undefined ? {} : { parentRunId }),
      ...(sessionId === undefined ? {} : { sessionId }),
      ...(task === undefined ? {} : { tags: { task } }),
    };
  }

  readonly startBody: object;

  /** Says who it runs for; before the first event where the order matters. */
  async start(): Promise<this> {
    await call(this.#target, 'POST', `/v1/runs/${this.runId}/start`, this.startBody);
    return this;
  }

  wait(ms: number): this {
    this.#at += ms;
    return this;
  }

  says(text: string): this {
    this.#add('custom', { type: 'message', data: { role: 'assistant', content: text } });
    return this;
  }

  model(
    model: string,
    inputTokens: number,
    outputTokens: number,
    costUsd: number | undefined,
    latencyMs: number,
    completion = 'Done.',
  ): this {
    const callId = next('m');
    this.#add('llm_call', { callId, provider: 'anthropic', model, messages: [{ role: 'user', content: 'Go on.' }] });
    this.#at += latencyMs;
    const usage = { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
    this.#add('llm_response', {
      callId,
      provider: 'anthropic',
      model,
      completion,
      finishReason: 'stop',
      usage,
      ...(costUsd === undefined ? {} : { costUsd }),
      latencyMs,
    });
    return this;
  }

  tool(toolName: string, args: object, durationMs: number, result: unknown = 'ok', callId = next('c')): this {
    this.#add('tool_call', { callId, toolName, arguments: args });
    this.#at += durationMs;
    this.#add('tool_response', { callId, toolName, result, durationMs });
    return this;
  }

  fails(toolName: string, args: object, durationMs: number, error: string): this {
    const callId = next('c');
    this.#add('tool_call', { callId, toolName, arguments: args });
    this.#at += durationMs;
    this.#add('tool_error', { callId, toolName, error, durationMs }, { severity: 'error' });
    return this;
  }

  begins(toolName: string, args: object): this {
    this.#add('tool_call', { callId: next('c'), toolName, arguments: args });
    return this;
  }

  /** Asks before it acts; earlier events are sent first. */
  async asks(toolName: string, args: object, callId = next('c')): Promise<Json> {
    await this.send();
    this.#at = Math.max(this.#at, Date.now());
    const body = {
      phase: 'tool.before',
      agentId: this.agentId,
      tool: { name: toolName },
      args,
      callId,
      deadlineMs: 5_000,
    };
    return call(this.#target, 'POST', `/v1/runs/${this.runId}/evaluate`, body);
  }

  /** Asks, and does it only where it may. */
  async tries(toolName: string, args: object, durationMs: number, result: unknown = 'ok'): Promise<Json> {
    const callId = next('c');
    const decision = await this.asks(toolName, args, callId);
    if (decision.verdict === 'ALLOW') this.tool(toolName, args, durationMs, result, callId);
    return decision;
  }

  async ends(reason: 'completed' | 'error' | 'timeout' | 'manual' = 'completed'): Promise<void> {
    this.#add('session_ended', { reason });
    await this.send();
  }

  async send(): Promise<void> {
    const events = this.#events.splice(0);
    for (let at = 0; at < events.length; at += 500)
      await call(this.#target, 'POST', '/api/events', { events: events.slice(at, at + 500) });
  }

  #add(eventType: string, payload: object, more: object = {}, tags: readonly string[] = []): void {
    this.#at += 7;
    this.#events.push({
      id: next('e'),
      sessionId: this.runId,
      agentId: this.agentId,
      eventType,
      severity: 'info',
      payload,
      tags,
      timestamp: new Date(this.#at).toISOString(),
      ...more,
    });
  }
}

export const RULES = {
  search: {
    name: 'Same search more than 5 times',
    agentId: 'research-agent',
    toolNames: ['web_search'],
    conditionType: 'repeated_call',
    conditionConfig: { times: 5, sameResult: false },
    actionType: 'block',
    actionConfig: { message: 'This search was already made. Use the results you have.' },
    priority: 10,
  },
  searchShadow: {
    name: 'Same search over 3 times',
    agentId: 'research-agent',
    toolNames: ['web_search'],
    conditionType: 'repeated_call',
    conditionConfig: { times: 3, sameResult: false },
    actionType: 'terminate_run',
    actionConfig: {},
    mode: 'shadow',
  },
  refunds: {
    name: 'Refunds over 200 need a human',
    description: 'Finance wants a second pair of eyes.',
    agentId: 'support-bot',
    toolNames: ['issue_refund', 'refund_*'],
    conditionType: 'all',
    conditionConfig: {
      conditions: [
        { type: 'tool_argument', config: { path: 'amount', type: 'number', operator: 'gt', value: 200 } },
        {
          type: 'not',
          config: {
            condition: { type: 'enduser_tag', config: { tag: 'tier', operator: 'hasValueAny', values: ['trusted'] } },
          },
        },
      ],
    },
    actionType: 'require_approval',
    actionConfig: { title: 'Check that the parcel really came back.', expiresInSeconds: 900 },
    priority: 10,
  },
  pushes: {
    name: 'Pushes to main need a human',
    agentId: 'coding-agent',
    toolNames: ['git_push'],
    conditionType: 'expression',
    conditionConfig: { expression: 'args.ref == "main"' },
    actionType: 'require_approval',
    actionConfig: { title: 'Look at what it replaces, not only at what it adds.', expiresInSeconds: 1800 },
  },
  secrets: {
    name: 'Secrets in tool arguments',
    agentId: 'coding-agent',
    conditionType: 'sensitive_data',
    conditionConfig: { in: 'arguments', detectors: [{ detector: 'secret_key' }, { detector: 'private_key' }] },
    actionType: 'block',
    actionConfig: {},
    mode: 'shadow',
  },
  cost: {
    name: 'Run costs more than $4',
    conditionType: 'cost_limit',
    conditionConfig: { maxCostUsd: 4, scope: 'session' },
    actionType: 'raise_alert',
    actionConfig: { severity: 'error', title: 'A run costs more than $4' },
    cooldownMinutes: 0,
  },
  errors: {
    name: 'Error rate over 30 %',
    agentId: 'invoice-reader',
    conditionType: 'error_rate_threshold',
    conditionConfig: { threshold: 30, windowMinutes: 5, minEvents: 5 },
    actionType: 'pause_agent',
    actionConfig: { message: 'Error rate over 30 %' },
  },
  many: {
    name: 'At most 60 tool calls a run',
    agentId: 'research-agent',
    conditionType: 'max_calls',
    conditionConfig: { tools: ['*'], max: 60, per: 'run' },
    actionType: 'block',
    actionConfig: {},
  },
  shell: {
    name: 'Ask before every shell command',
    agentId: 'coding-agent',
    toolNames: ['shell'],
    conditionType: 'tool_name',
    conditionConfig: { operator: 'eq', value: 'shell' },
    actionType: 'require_approval',
    actionConfig: { title: 'May it run this?' },
    mode: 'off',
  },
};

const MINUTE = 60_000;
const SEARCH = { query: 'EU battery passport deadlines', maxResults: 10 };

/** Makes rules; answers their ids by name. */
async function makeRules<K extends keyof typeof RULES>(
  target: Target,
  names: readonly K[],
): Promise<Record<K, string>> {
  const ids: [K, string][] = [];
  for (const name of names) ids.push([name, (await call(target, 'POST', '/api/guardrails', RULES[name])).id]);
  return Object.fromEntries(ids) as Record<K, string>;
}

/** A night on call: runs of four agents, one of which loops, one waits for a human, one is paused. */
export async function aNight(
  target: Target,
): Promise<{ readonly runId: string; readonly ruleIds: Record<keyof typeof RULES, string> }> {
  const ruleIds = await makeRules(target, Object.keys(RULES) as (keyof typeof RULES)[]);
  await call(target, 'POST', '/api/budgets', {
    name: 'Research, a day',
    scope: 'agent',
    scopeId: 'research-agent',
    period: 'day',
    limitUsd: 6,
  });
  await call(target, 'POST', '/api/budgets', {
    name: 'All agents, a month',
    scope: 'tenant',
    period: 'month',
    limitUsd: 400,
  });
  await quietRuns(target);
  const runId = await theLoop(target);
  await theRefund(target);
  await thePush(target);
  await theFailures(target);
  return { runId, ruleIds };
}

async function quietRuns(target: Target): Promise<void> {
  for (let index = 0; index < 26; index++) {
    const agentId = index % 3 === 0 ? 'support-bot' : 'triage-bot';
    const run = new Agent(target, {
      agentId,
      startedMsAgo: (8 + index * 11) * MINUTE,
      task: `ticket ${88190 + index}`,
    });
    run
      .model('claude-haiku-4-5', 780 + index * 9, 120, 0.0021, 1900)
      .tool('get_order', { order_id: `A-${20900 + index}` }, 320, { status: 'delivered' });
    if (index % 9 === 4) run.model('local-7b', 400, 90, undefined, 800);
    await run.ends(index === 13 ? 'error' : 'completed');
  }
}

async function theLoop(target: Target): Promise<string> {
  const run = await new Agent(target, {
    agentId: 'research-agent',
    task: 'EU battery passport brief',
    actor: 'j.lindqvist',
    sessionId: 'S-4471',
  }).start();
  run
    .wait(-13 * MINUTE)
    .model(
      'claude-sonnet-4-5',
      4120,
      388,
      0.041,
      13_600,
      'I will look for the deadlines first, then read the regulation.',
    );
  run.wait(2_000).tool('fetch_page', { url: 'https://eur-lex.europa.eu/eli/reg/2023/1542' }, 2_600, {
    bytes: 418_000,
    title: 'Regulation (EU) 2023/1542',
  });
  run
    .wait(20_000)
    .model(
      'claude-sonnet-4-5',
      22_400,
      1_820,
      0.41,
      22_000,
      'Three dates conflict between the articles and the annex.',
    );
  run.wait(4 * MINUTE).model('claude-sonnet-4-5', 61_000, 3_400, 1.78, 51_000, 'The obligations, by actor: …');
  run
    .wait(5_000)
    .fails('fetch_page', { url: 'https://example.org/paywalled' }, 4_100, 'HTTP 402, a subscription is needed');
  run.wait(3_000).model('claude-sonnet-4-5', 58_000, 2_900, 1.61, 47_000, 'I will search again.');
  await run.send();
  const reader = await new Agent(target, {
    agentId: 'source-reader',
    parentRunId: run.runId,
    task: 'read 14 sources',
  }).start();
  reader
    .wait(-9 * MINUTE)
    .model('gpt-5-mini', 8_100, 700, 0.31, 38_000)
    .tool('fetch_page', { url: 'https://ec.europa.eu' }, 14_000)
    .model('gpt-5-mini', 9_900, 1_200, 0.58, 25_000);
  await reader.ends();
  for (let time = 0; time < 9; time++) await run.tries('web_search', SEARCH, 1_200, { results: 10 });
  run.model('claude-sonnet-4-5', 12_000, 400, 0.42, 2_000);
  run.begins('write_file', { path: 'draft.md' });
  await run.send();
  return run.runId;
}

async function theRefund(target: Target): Promise<void> {
  const run = await new Agent(target, {
    agentId: 'support-bot',
    task: 'refund for order A-20931',
    actor: 'c-5512',
  }).start();
  run
    .wait(-30_000)
    .says('My blender came broken, I want my money back.')
    .tool('get_order', { order_id: 'A-20931' }, 300, { delivered: '2026-11-19', total: 412.5, currency: 'EUR' });
  run.fails('track_return', { order_id: 'A-20931' }, 800, 'no scan found');
  await run.tries(
    'issue_refund',
    {
      order_id: 'A-20931',
      amount: 412.5,
      currency: 'EUR',
      reason:
        'Item arrived damaged. The customer sent two photos and says the parcel was handed back to the courier on 21 Nov.',
      card: '4111 1111 1111 1111',
      notify: true,
    },
    500,
  );
  await run.send();
  const other = await new Agent(target, {
    agentId: 'support-bot',
    task: 'refund for order A-20877',
    actor: 'c-4410',
  }).start();
  await other.tries('issue_refund', { order_id: 'A-20877', amount: 231, currency: 'EUR' }, 500);
  const { alerts } = await call(target, 'GET', `/api/alerts?kind=approval&runId=${other.runId}`);
  await call(target, 'POST', `/api/alerts/${alerts[0].id}/approve`, { reason: 'return seen at the depot' });
  await other.tries('issue_refund', { order_id: 'A-20877', amount: 231, currency: 'EUR' }, 500);
  await other.ends();
}

async function thePush(target: Target): Promise<void> {
  const run = await new Agent(target, { agentId: 'coding-agent', task: 'migrate invoices', actor: 'a.moreau' }).start();
  run
    .wait(-48 * MINUTE)
    .model('claude-sonnet-4-5', 9_000, 900, 0.21, 9_000)
    .tool('edit_file', { path: 'src/invoice/round.ts' }, 90)
    .tool('shell', { command: 'npm test' }, 41_000);
  await run.tries(
    'http_request',
    { url: 'https://api.example.com', headers: { authorization: 'Bearer sk-ant-REDACTED' } },
    120,
  );
  await run.tries('git_push', { repo: 'billing', ref: 'main', force: 'with lease, on 9f31c0e', commits: 2 }, 700);
  await run.send();
}

async function theFailures(target: Target): Promise<void> {
  const run = await new Agent(target, { agentId: 'invoice-reader', task: 'batch 2026-11-23' }).start();
  for (let page = 1; page <= 5; page++) run.tool('read_page', { page }, 200);
  for (let page = 6; page <= 15; page++) run.fails('read_page', { page }, 900, 'parser error: no table');
  await run.send();
}

const SECRETS_RULE = {
  name: 'Files with secrets need approval',
  agentId: 'claude-code',
  toolNames: ['read_file'],
  conditionType: 'expression',
  conditionConfig: { expression: 'args.path.endsWith(".env")' },
  actionType: 'require_approval',
  actionConfig: { title: 'Let the coding agent use a file with secrets?', expiresInSeconds: 900 },
};

/** A session of a coding agent, whose host reports no model calls: one call is denied, and it goes on without. */
export async function aCodingSession(target: Target): Promise<{ readonly runId: string }> {
  await call(target, 'POST', '/api/guardrails', SECRETS_RULE);
  const run = await new Agent(target, { agentId: 'claude-code', task: 'checkout rounds wrong', actor: 'dev' }).start();
  run
    .tool('read_file', { path: 'src/checkout/round.ts' }, 110)
    .tool('edit_file', { path: 'src/checkout/round.ts' }, 120);
  run.tool('shell', { command: 'npm test -- checkout' }, 4_100, { exitCode: 0 });
  await run.tries('read_file', { path: '.env' }, 50);
  const { alerts } = await call(target, 'GET', `/api/alerts?kind=approval&runId=${run.runId}`);
  await call(target, 'POST', `/api/alerts/${alerts[0].id}/deny`, { reason: 'Use the test settings' });
  await run.tries('read_file', { path: '.env' }, 50);
  run.tool('shell', { command: 'git commit -am "checkout: round half up"' }, 160, { exitCode: 0 });
  await run.ends();
  return { runId: run.runId };
}
