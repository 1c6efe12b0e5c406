import type { Decision } from '@agentlens/contracts';

/** What the demo agent needs from its environment. Times are in milliseconds. */
export interface DemoWorld {
  /** Reports an event in the AgentLens vocabulary. */
  report(event: { readonly eventType: string; readonly payload: object; readonly severity?: string }): Promise<void>;
  /** Asks for a decision before a call. */
  ask(question: { readonly toolName: string; readonly args: object; readonly callId: string }): Promise<Decision>;
  newId(): string;
  pause(ms: number): Promise<void>;
  nowMs(): number;
}

const STEP_MS = 350;
const MAX_SEARCHES = 8;
const POLL_MS = 1_000;
const WAITS_MS = 10 * 60_000;
const MODEL = 'claude-sonnet-4-5';
const SEARCH = { query: 'EU battery passport deadlines', maxResults: 10 };
const PURCHASE = { vendor: 'reports.example', title: 'Battery passports 2026', amount: 49, currency: 'EUR' };

/**
 * A small agent with a realistic flaw: its search finds nothing new, and instead of giving up it repeats the search and
 * pays for a model each time. It asks before every call and obeys. At the end it wants to buy something, which needs
 * approval.
 */
export async function runDemoAgent(world: DemoWorld): Promise<void> {
  await world.report({ eventType: 'session_started', payload: { agentName: 'demo-agent', tags: ['demo'] } });
  await think(world, 'I will look for the deadlines first.');
  for (let searches = 0; searches < MAX_SEARCHES; searches++) {
    const decision = await attempt(world, 'web_search', SEARCH, { results: 10, newOnes: 0 });
    if (decision.control === 'TERMINATE') return end(world, 'manual');
    await think(
      world,
      decision.verdict === 'ALLOW' ? 'Nothing new. I will search again.' : 'I was asked to stop searching.',
    );
    if (decision.verdict === 'BLOCK') break;
  }
  const bought = await untilDecided(world);
  await think(world, bought ? 'The report answers it.' : 'I will write the brief without the report.');
  await end(world, 'completed');
}

async function attempt(world: DemoWorld, toolName: string, args: object, result: object): Promise<Decision> {
  const callId = world.newId();
  const decision = await world.ask({ toolName, args, callId });
  if (decision.verdict === 'ALLOW') await call(world, toolName, args, result, callId);
  return decision;
}

async function call(world: DemoWorld, toolName: string, args: object, result: object, callId: string): Promise<void> {
  await world.report({ eventType: 'tool_call', payload: { callId, toolName, arguments: args } });
  await world.pause(STEP_MS);
  await world.report({ eventType: 'tool_response', payload: { callId, toolName, result, durationMs: STEP_MS } });
}

/** Repeats the same question until it is answered, because the approval covers exactly this call. */
async function untilDecided(world: DemoWorld): Promise<boolean> {
  const callId = world.newId();
  const untilMs = world.nowMs() + WAITS_MS;
  while (world.nowMs() < untilMs) {
    const decision = await world.ask({ toolName: 'buy_report', args: PURCHASE, callId });
    if (decision.verdict === 'ALLOW') {
      await call(world, 'buy_report', PURCHASE, { receipt: 'R-1182' }, callId);
      return true;
    }
    if (decision.cause.kind !== 'HITL_PENDING') return false;
    await world.pause(POLL_MS);
  }
  return false;
}

async function think(world: DemoWorld, completion: string): Promise<void> {
  const common = { callId: world.newId(), provider: 'anthropic', model: MODEL };
  await world.report({
    eventType: 'llm_call',
    payload: { ...common, messages: [{ role: 'user', content: 'Go on.' }] },
  });
  await world.pause(STEP_MS);
  const usage = { inputTokens: 2_100, outputTokens: 180, totalTokens: 2_280 };
  const ended = { ...common, completion, finishReason: 'stop', usage, costUsd: 0.009, latencyMs: STEP_MS };
  await world.report({ eventType: 'llm_response', payload: ended });
}

async function end(world: DemoWorld, reason: string): Promise<void> {
  await world.report({ eventType: 'session_ended', payload: { reason } });
}
