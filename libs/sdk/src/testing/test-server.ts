import { ToolIndex } from '@agentlens/guardrails/tool-index';
import { AgentLens, type AgentLensClient } from '../client.ts';
import type { RuleBundle } from '../guard/local-rules.ts';
import { signBundle } from '../guard/rule-bundle.ts';
import type { AgentLensOptions } from '../options.ts';
import type { Http, HttpAnswer, HttpCall, HttpStream } from '../runtime/runtime.ts';
import { isRecord, parseJson } from '../wire/decision.ts';
import type { Lockdown, ToolInfo } from '../wire/model.ts';
import { type Answerer, type AskedQuestion, allow, type TestRule } from './answers.ts';
import { TestApprovals } from './approvals.ts';
import { ControlEndpoint } from './control-endpoint.ts';
import { TestClock, testIds } from './test-clock.ts';

export interface RecordedEvent {
  readonly id: string;
  readonly kind: string;
  readonly runId: string;
  readonly ts: string;
  readonly stepIndex?: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface RecordedRun {
  readonly id: string;
  readonly start: Readonly<Record<string, unknown>>;
  readonly heartbeats: number;
  readonly status: string;
}

export interface RecordedCall {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * How the server fails: `down` refuses connections, `hang` never answers, `nonsense` sends malformed answers; a number
 * is a status.
 */
export type Failure = 'none' | 'down' | 'hang' | 'nonsense' | number;

const API_KEY = 'als_test';

/**
 * In-memory server: every call of the protocol, decisions from a script or rules, approvals and orders. The SDK under
 * test talks to it through `http`; nothing in the SDK is replaced.
 */
export class TestPlatform {
  readonly agentId = 'agent-1';
  readonly apiKey = API_KEY;
  readonly clock: TestClock;
  readonly http: Http;
  readonly control: ControlEndpoint;
  readonly approvals: TestApprovals;
  /** Each event once, even if it was sent several times. */
  readonly events: RecordedEvent[] = [];
  readonly questions: AskedQuestion[] = [];
  /** All requests to the server, in order. */
  readonly calls: RecordedCall[] = [];
  tools: readonly ToolInfo[] = [];
  /** Sent to runs at their start and with heartbeats. */
  lockdown: Lockdown = { active: false };
  readonly #ids = testIds();
  readonly #runs = new Map<string, RecordedRun>();
  readonly #seen = new Set<string>();
  readonly #answerers: Answerer[] = [];
  #failure: Failure = 'none';
  #failing = (_path: string) => true;
  #bundle: RuleBundle | null = null;

  constructor(options: { readonly clock?: TestClock } = {}) {
    this.clock = options.clock ?? new TestClock();
    this.control = new ControlEndpoint(
      this.agentId,
      () => this.clock.now(),
      (runId, reason) => this.approvals.cancelWaiting(runId, reason),
    );
    this.approvals = new TestApprovals(({ id, runId, callId, status, reason }) =>
      this.control.tell('approval', { approvalId: id, runId, callId, status, reason }),
    );
    this.http = {
      call: (call) => this.#answer(call),
      stream: (call) => this.#stream(call),
      close: () => Promise.resolve(),
    };
  }

  get runs(): readonly RecordedRun[] {
    return [...this.#runs.values()];
  }

  /** Creates a client of this server: deterministic ids and clock, orders over the stream by default. */
  client(options: Partial<AgentLensOptions> = {}): Promise<AgentLensClient> {
    const { runtime, ...rest } = options;
    return AgentLens.init({
      apiKey: API_KEY,
      baseUrl: 'https://test.invalid',
      agent: { slug: 'test-agent' },
      ...rest,
      runtime: {
        http: this.http,
        clock: this.clock,
        newId: (nowMs) => this.#ids(nowMs),
        random: () => 0.5,
        background: true,
        ...runtime,
      },
    });
  }

  /** Takes precedence over everything added before. */
  answer(answerer: Answerer): this {
    this.#answerers.unshift(answerer);
    return this;
  }

  rule(rule: TestRule): this {
    const tools = rule.tools === undefined ? {} : { tools: rule.tools.map((tool) => tool.toLowerCase()) };
    const index = new ToolIndex([{ selects: tools }]);
    const phases = rule.phases ?? ['tool.before'];
    return this.answer((question) => {
      if (!phases.includes(question.phase)) return undefined;
      const name = question.tool?.name.toLowerCase();
      if (index.selecting({ ...(name === undefined ? {} : { name }), tags: [] }).length === 0) return undefined;
      if (rule.when?.(question) === false) return undefined;
      return typeof rule.answer === 'function' ? rule.answer(question) : rule.answer;
    });
  }

  /** Offers rules for evaluation in the agent and notifies listeners. Signed as the real server does. */
  offerBundle(bundle: Omit<RuleBundle, 'agentId'>): void {
    this.#bundle = { agentId: this.agentId, ...bundle };
    this.control.tell('rules', { version: bundle.version });
  }

  /** In effect from now on; `paths` limits it to matching paths. A number is a status. */
  fail(failure: Failure, paths: (path: string) => boolean = () => true): void {
    this.#failure = failure;
    this.#failing = paths;
  }

  eventsOf(kind: string): readonly RecordedEvent[] {
    return this.events.filter((event) => event.kind === kind);
  }

  async #answer(call: HttpCall): Promise<HttpAnswer> {
    const { pathname, search } = new URL(call.url);
    const body = call.body === undefined ? undefined : parseJson(call.body);
    this.calls.push({ method: call.method, path: pathname + search, body, headers: call.headers });
    const failed = this.#failing(pathname) ? await this.#failed(call.signal) : null;
    if (failed !== null) return failed;
    if (pathname === '/v1/rules/bundle') return this.#bundled(call.headers['if-none-match']);
    return this.#route(pathname, isRecord(body) ? body : {});
  }

  #failed(signal: AbortSignal): Promise<HttpAnswer> | HttpAnswer | null {
    const failure = this.#failure;
    if (failure === 'none') return null;
    if (failure === 'down') throw new Error('connect ECONNREFUSED');
    if (failure === 'hang') return new Promise((_, reject) => signal.addEventListener('abort', reject, { once: true }));
    return failure === 'nonsense' ? answered(200, '<html>welcome</html>') : answered(failure, '{}');
  }

  async #route(path: string, body: Record<string, unknown>): Promise<HttpAnswer> {
    const [, , area = '', id = '', verb = ''] = path.split('/').map(decodeURIComponent);
    const { lockdown } = this;
    if (path === '/v1/agents') return this.#registered(body);
    if (area === 'agents' && verb === 'tools') return this.#registered(body);
    if (path === '/v1/runs/events') return this.#taken(body);
    if (area === 'control' && verb === 'ack') return this.#acknowledged(id, body);
    if (area !== 'runs') return answered(404, '{}');
    if (verb === 'evaluate') return json(this.#decided({ ...(body as unknown as AskedQuestion), runId: id }));
    const run = this.#runs.get(id) ?? { id, start: {}, heartbeats: 0, status: 'running' };
    if (verb === 'start') this.#runs.set(id, { ...run, start: body });
    if (verb === 'heartbeat') this.#runs.set(id, { ...run, heartbeats: run.heartbeats + 1 });
    if (verb === 'end') this.#runs.set(id, { ...run, status: String(body.status) });
    const { modelOverride, until, ancestors, ...rest } = lockdown;
    const lineage = ancestors === undefined ? undefined : { ancestors };
    return json({ runId: id, lockdown: { ...rest, until_ts: until }, modelOverride, lineage });
  }

  #registered(body: Record<string, unknown>): HttpAnswer {
    if (Array.isArray(body.tools)) this.tools = body.tools as readonly ToolInfo[];
    return json({ agentId: this.agentId });
  }

  #taken(body: Record<string, unknown>): HttpAnswer {
    const events = Array.isArray(body.events) ? (body.events as readonly RecordedEvent[]) : [];
    for (const event of events) {
      if (this.#seen.has(event.id)) continue;
      this.#seen.add(event.id);
      this.events.push(event);
    }
    return json({ accepted: events.length, rejected: 0 });
  }

  #acknowledged(directiveId: string, body: Record<string, unknown>): HttpAnswer {
    const { agentId, instanceId } = body;
    const signature = isRecord(body.signature) ? body.signature : undefined;
    this.control.acknowledgements.push({
      ...{ directiveId, agentId: String(agentId), instanceId: String(instanceId) },
      ...(signature !== undefined && { mac: String(signature.mac) }),
    });
    return json({ directiveId, acknowledged: true });
  }

  async #bundled(heldTag: string | undefined): Promise<HttpAnswer> {
    if (this.#bundle === null) return answered(404, '{}');
    // A version is a timestamp, not part of the content.
    const signed = await signBundle({ ...this.#bundle, version: 0 }, this.apiKey);
    const etag = `W/"${signed.signature}"`;
    if (heldTag === etag) return answered(304, '', { etag });
    return answered(200, JSON.stringify(await signBundle(this.#bundle, this.apiKey)), { etag });
  }

  #decided(question: AskedQuestion): unknown {
    this.questions.push(question);
    for (const answerer of this.#answerers) {
      const answer = answerer(question);
      if (answer === undefined) continue;
      return 'needsApproval' in answer ? this.approvals.resolve(question, answer) : answer;
    }
    return allow();
  }

  async #stream(call: HttpCall): Promise<HttpStream> {
    const { pathname, search, searchParams } = new URL(call.url);
    this.calls.push({ method: call.method, path: pathname + search, body: undefined, headers: call.headers });
    const failed = this.#failing(pathname) ? await this.#failed(call.signal) : null;
    if (failed !== null) return { status: failed.status, contentType: 'text/html', chunks: once(failed.text) };
    const after = Number(call.headers['last-event-id'] ?? searchParams.get('after') ?? 0);
    if (pathname === '/v1/control/stream')
      return { status: 200, contentType: 'text/event-stream', chunks: this.control.stream(after, call.signal) };
    const answer = await this.control.poll(after, call.signal);
    return { status: 200, contentType: 'application/json', chunks: once(JSON.stringify(answer)) };
  }
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

function json(body: unknown): HttpAnswer {
  return answered(200, JSON.stringify(body));
}

function answered(status: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  return { status, text, header: (name) => headers[name] };
}
