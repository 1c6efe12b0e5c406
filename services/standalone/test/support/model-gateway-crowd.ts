import { type AnswerScript, writeStreamedAnswer } from '@agentlens/model-api';
import { eventually, type ProviderAnswer, readProviderRequest } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { makeBudget } from './loaded-settings.ts';
import { DIALECTS, type Dialect, type GatewayWorld, limitTokens, REFUSED, readText } from './model-gateway-world.ts';

/** The nightly workflow sends 500, which saturate a machine that other suites share. */
const CALLERS = Number(process.env.GATEWAY_CROWD ?? 100);
/** 100 tokens as the gateway counts them. */
const PIECE = 'x'.repeat(350);
const PIECES = 30;
const SCRIPT: Omit<AnswerScript, 'model'> = {
  ...{ id: 'answer-1', pieces: Array.from({ length: PIECES }, () => PIECE) },
  ...{ inputTokens: 5, outputTokens: PIECES * 100 },
};
/** Of gpt-4.1, 1,000 tokens of output. */
const STEP_USD = 0.008;
/** Room for two steps of each caller, and for the third step of half of them. */
const LIMIT_USD = 2.5 * CALLERS * STEP_USD;

/** A budget under many streams at once. */
export function describeCrowd(world: GatewayWorld): void {
  const { newTenant, call } = world;

  describe(`${CALLERS} callers at the edge of a budget`, () => {
    it('pass it by at most one step, though a fifth leave and the others send again', async () => {
      const { admin, key } = await newTenant();
      const budget = { name: 'Crowd', scope: 'agent', scopeId: 'bot', period: 'day', limitUsd: LIMIT_USD };
      const budgetId = await makeBudget(world.platform, admin, budget);
      const provider = answerInStep();
      world.provider.answer(provider.answer);

      /** Returns what ended the answer. */
      const callOnce = async (caller: number, attempt: number, leavesAfter = Number.POSITIVE_INFINITY) => {
        const headers = { 'x-agentlens-run': `crowd-${caller}` };
        const body = { stream: true, ...limitTokens('openai', 30_000), ...say('openai', nameCall(caller, attempt)) };
        const answer = await call('openai', key, { body, headers });
        if (answer.status !== 200) return `${answer.status} ${await answer.text()}`;
        const reader = readText(answer);
        let text = '';
        for (let pieces = 0; pieces < leavesAfter; pieces++) {
          const next = await reader.next();
          if (next === undefined) return text.includes('[DONE]') ? 'whole' : text.slice(-500);
          text = `${text}${next}`.slice(-5_000);
          provider.go(nameCall(caller, attempt));
        }
        await reader.leave();
        return 'left';
      };
      const converse = async (caller: number) => {
        const first = await callOnce(caller, 1, caller % 5 === 0 ? 3 + (caller % 23) : undefined);
        return /whole|left/.test(first) ? [first] : [first, await callOnce(caller, 2)];
      };
      const ends = (await Promise.all(Array.from({ length: CALLERS }, (_, caller) => converse(caller)))).flat();

      const kinds = countKinds(ends);
      expect(kinds).toMatchObject({ other: [] });
      // Some of those who want to leave are stopped before.
      expect(kinds.left).toBeGreaterThan(CALLERS / 10);
      expect(kinds.stopped).toBeGreaterThan(0);
      const pot = await eventually(async () => {
        const [found] = (await admin.get(`/api/budgets/${budgetId}`)).body.pots;
        expect(found).toMatchObject({ reservedUsd: 0 });
        return found as { readonly spentUsd: number };
      });
      expect(pot.spentUsd).toBeLessThanOrEqual(LIMIT_USD + STEP_USD);
      // Refused callers were refused because the money was spent or in use.
      expect(pot.spentUsd).toBeGreaterThan(LIMIT_USD / 2);
    });
  });
}

/** Callers of one run that is killed while their answers are at different places. */
const IN_RUN = 24;

/** Clients that repeat a call whose answer ends before it is complete, as coding agents do. */
export function describeStops(world: GatewayWorld): void {
  const { newTenant, call } = world;

  it.each(DIALECTS)(
    'a kill ends every answer of %s, after which each caller repeats its call in vain, at no cost',
    async (dialect) => {
      const { admin, key } = await newTenant();
      const provider = answerInStep();
      world.provider.answer(provider.answer);
      const before = world.provider.requests.length;
      const headers = { 'x-agentlens-run': 'run-stopped' };
      const killed = Promise.withResolvers<void>();
      const placed: Promise<void>[] = [];

      /** Reads some pieces, waits until the run is killed, and reads on. Returns how often it had to send. */
      const converse = async (caller: number, pieces: number) => {
        const place = Promise.withResolvers<void>();
        placed.push(place.promise);
        for (let attempt = 1; ; attempt++) {
          const body = { stream: attempt % 2 === 1, ...say(dialect, nameCall(caller, attempt)) };
          const answer = await call(dialect, key, { body, headers });
          if (answer.status !== 200) {
            expect([answer.status, await answer.text()]).toEqual([
              REFUSED[dialect].policy,
              expect.stringContaining('Enough'),
            ]);
            return attempt;
          }
          const reader = readText(answer);
          for (let read = 0; ; read++) {
            if (read === pieces) {
              place.resolve();
              await killed.promise;
            }
            const next = await reader.next();
            provider.go(nameCall(caller, attempt));
            if (next === undefined) break;
          }
        }
      };
      const conversations = Array.from({ length: IN_RUN }, (_, caller) => converse(caller, caller % 8));
      await Promise.all(placed);
      const order = { scope: 'run', scopeId: 'run-stopped', state: 'killed', reason: 'Enough' };
      expect((await admin.post('/api/control', order)).status).toBeLessThan(300);
      killed.resolve();
      expect(await Promise.all(conversations)).toEqual(Array.from({ length: IN_RUN }, () => 2));
      const sent = world.provider.requests.slice(before).map(({ body }) => readName(body));
      expect(sent.toSorted()).toEqual(Array.from({ length: IN_RUN }, (_, caller) => nameCall(caller, 1)).toSorted());
    },
  );
}

/** A provider that sends the next piece of an answer when its caller has got the one before. */
function answerInStep() {
  const waiting = new Map<string, () => void>();
  const answer: ProviderAnswer = async (request, response) => {
    const { api, sent } = readProviderRequest(request);
    const name = readName(request.body);
    const frames = writeStreamedAnswer(api, { ...SCRIPT, model: sent.model }, true);
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.once('close', () => waiting.get(name)?.());
    for (const frame of frames) {
      if (response.destroyed) break;
      const got = frame.includes('xxx') ? new Promise<void>((resolve) => waiting.set(name, resolve)) : undefined;
      response.write(frame);
      await got;
    }
    waiting.delete(name);
    response.end();
  };
  return { answer, go: (name: string) => waiting.get(name)?.() };
}

const nameCall = (caller: number, attempt: number) => `Call ${caller}.${attempt}.`;

function readName(body: Buffer): string {
  return /Call \d+\.\d+\./.exec(body.toString())?.[0] ?? '';
}

function say(dialect: Dialect, text: string): object {
  if (dialect === 'gemini') return { contents: [{ role: 'user', parts: [{ text }] }] };
  return dialect === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] };
}

function countKinds(ends: readonly string[]) {
  const count = (matches: (end: string) => boolean) => ends.filter(matches).length;
  const isStopped = (end: string) => end.includes('The budget \\"Crowd\\" is spent');
  const isRefused = (end: string) => end.startsWith('402 ') && end.includes('does not fit into the budget');
  // On a saturated machine the fail mode refuses, after the gateway has asked again for a while. It costs nothing.
  const isUndecided = (end: string) => /could (?:not be asked|be evaluated) in time/.test(end);
  const known = (end: string) =>
    end === 'whole' || end === 'left' || isStopped(end) || isRefused(end) || isUndecided(end);
  return {
    ...{ whole: count((end) => end === 'whole'), left: count((end) => end === 'left') },
    ...{ stopped: count(isStopped), refused: count(isRefused) },
    other: ends.filter((end) => !known(end)).slice(0, 3),
  };
}
