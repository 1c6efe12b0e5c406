import { randomBytes } from 'node:crypto';
import { Agent } from 'undici';
import { measureInTurn, type Sender } from '../measure-in-turn.ts';
import { postPatiently } from '../post-patiently.ts';
import { TEN_RULES } from '../rule-drafts.ts';
import type { Bench, Scenario } from '../scenario.ts';

export const BATCH = 100;
const QUESTION = 'What is the weather in Paris, and what should I wear there tomorrow morning?';
const ANSWER = 'Sunny and 21 degrees; a shirt will do, and something over it before ten.';
const MODEL = 'gpt-4o-mini';
const TOKENS = { input: 1_200, output: 85 };

/** The same model calls as events of the AgentLens protocol and as spans of an exporter's batch. */
export const otlp: Scenario = {
  name: 'otlp',
  title: 'model calls as spans to /v1/traces (JSON) beside the same as events to /api/events, in turn',
  smoke: false,
  async run(bench: Bench) {
    const stage = await bench.stage('distributed');
    await stage.setRules(TEN_RULES);
    const dispatcher = new Agent({ connections: 2 });
    const post = (path: string, body: object) => postPatiently(stage, path, body, dispatcher);
    const senders: readonly [Sender, Sender, ...Sender[]] = [
      { name: 'events', eventsEach: BATCH, send: (agentId) => post('/api/events', eventsOf(agentId)) },
      { name: 'spans', eventsEach: BATCH, send: (agentId) => post('/v1/traces', spansOf(agentId, true)) },
      {
        name: 'spans without response ids',
        eventsEach: BATCH,
        send: (agentId) => post('/v1/traces', spansOf(agentId, false)),
      },
    ];
    try {
      bench.found(await measureInTurn(stage, { scenario: 'otlp', seconds: bench.seconds, senders, concurrency: 2 }));
    } finally {
      await dispatcher.close();
      await stage.forgetEvents();
    }
  },
};

function eventsOf(agentId: string): object {
  const sessionId = randomBytes(16).toString('hex');
  const timestamp = new Date().toISOString();
  const usage = { inputTokens: TOKENS.input, outputTokens: TOKENS.output };
  return {
    events: Array.from({ length: BATCH }, () => ({
      ...{ id: randomBytes(8).toString('hex'), sessionId, agentId, timestamp, eventType: 'llm_response' },
      payload: {
        ...{ callId: randomBytes(8).toString('hex'), model: MODEL, provider: 'openai', latencyMs: 900 },
        ...{ completion: ANSWER, finishReason: 'stop', usage, input: [{ role: 'user', content: QUESTION }] },
      },
    })),
  };
}

/** An exporter's batch of model calls as the AI SDK 7 and others report them: the third generation of the conventions. */
export function spansOf(agentId: string, hasResponseIds: boolean): object {
  const traceId = randomBytes(16).toString('hex');
  const root = randomBytes(8).toString('hex');
  const endNs = `${Date.now()}000000`;
  const startNs = `${Date.now() - 900}000000`;
  const message = (role: string, content: string) => JSON.stringify([{ role, parts: [{ type: 'text', content }] }]);
  const spans = Array.from({ length: BATCH }, () => ({
    ...{ traceId, spanId: randomBytes(8).toString('hex'), parentSpanId: root, name: `chat ${MODEL}`, kind: 3 },
    ...{ startTimeUnixNano: startNs, endTimeUnixNano: endNs },
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.provider.name', 'openai'),
      text('gen_ai.request.model', MODEL),
      text('gen_ai.response.model', MODEL),
      ...(hasResponseIds ? [text('gen_ai.response.id', randomBytes(12).toString('hex'))] : []),
      text('gen_ai.input.messages', message('user', QUESTION)),
      text('gen_ai.output.messages', message('assistant', ANSWER)),
      count('gen_ai.usage.input_tokens', TOKENS.input),
      count('gen_ai.usage.output_tokens', TOKENS.output),
    ],
  }));
  const resource = { attributes: [text('service.name', agentId)] };
  return { resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'gen_ai' }, spans }] }] };
}

const text = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const count = (key: string, intValue: number) => ({ key, value: { intValue } });
