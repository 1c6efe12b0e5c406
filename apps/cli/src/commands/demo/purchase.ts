import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, ProblemError } from '@agentlens/client';
import type { AnswerOf, CommandContext } from '../../context.ts';
import { PROGRAM } from '../../program-name.ts';
import type { DemoScreen } from './screen.ts';

const POLL_MS = 500;
const PURCHASE = { vendor: 'reports.example', title: 'Tidal power 2026', amount: 49, currency: 'EUR' };

type CallDecision = AnswerOf<'evaluateCall'>;

export interface Purchase {
  readonly context: CommandContext;
  readonly client: Client;
  readonly screen: DemoScreen;
  readonly agentId: string;
  /** Time to wait for a decision, in ms. */
  readonly waitMs: number;
}

/** An agent asks before it buys something and waits for a person to decide about exactly this call. */
export async function buyWithApproval({ context, client, screen, agentId, waitMs }: Purchase): Promise<void> {
  const runId = `run-${randomUUID().slice(0, 8)}`;
  const callId = randomUUID();
  const ask = () =>
    client.evaluateCall({
      params: { runId },
      body: { phase: 'tool.before', agentId, tool: { name: 'buy_report' }, args: PURCHASE, callId },
    });
  screen.agent('wants to buy "Tidal power 2026" for 49 EUR and asks first');
  let decision = await ask();
  const { approvalId } = pending(decision) ?? {};
  if (approvalId === undefined) throw new Error(`No approval was requested: the decision was "${decision.message}".`);
  screen.guardrail(`requests approval ${approvalId}`);
  screen.note(`Decide in another terminal: ${PROGRAM} approvals approve ${approvalId}`);
  const answered = new AbortController();
  try {
    decision = await Promise.race([
      untilDecided(ask, context.host.signal, () => giveUp(client, screen, approvalId), waitMs),
      // The poll below sees a decision made here; only a failure to submit it ends the wait.
      failureOf(askHere(context, client, approvalId, answered.signal)),
    ]);
  } finally {
    answered.abort();
  }
  const { status, decidedBy = 'nobody', reason } = await client.getAlert({ params: { id: approvalId } });
  screen.human(`${status} by ${decidedBy}${reason === undefined ? '' : `: ${reason}`}`);
  screen.agent(decision.verdict === 'ALLOW' ? 'buys the report' : `does not buy it: ${decision.message}`);
}

/** Polls until the approval is decided or `waitMs` has passed. */
async function untilDecided(
  ask: () => Promise<CallDecision>,
  signal: AbortSignal,
  giveUpNow: () => Promise<void>,
  waitMs: number,
): Promise<CallDecision> {
  let untilMs = performance.now() + waitMs;
  for (;;) {
    const decision = await ask();
    if (pending(decision) === undefined) return decision;
    if (performance.now() >= untilMs) {
      untilMs = Number.POSITIVE_INFINITY;
      await giveUpNow();
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

/** Rejects if the work fails; never resolves. */
function failureOf(work: Promise<void>): Promise<never> {
  return new Promise((_resolve, reject) => {
    work.catch(reject);
  });
}

function pending(decision: CallDecision): { readonly approvalId: string } | undefined {
  return decision.cause.kind === 'HITL_PENDING' ? decision.cause : undefined;
}

async function giveUp(client: Client, screen: DemoScreen, id: string): Promise<void> {
  screen.note('No decision in time: the demo denies the call.');
  await unlessDecided(client.denyAlert({ params: { id }, body: { reason: 'no decision in time' } }));
}

/** Lets the person at this terminal decide, until the approval is decided elsewhere. */
async function askHere({ prompt }: CommandContext, client: Client, id: string, answered: AbortSignal): Promise<void> {
  if (prompt === null) return;
  try {
    const isYes = /^y(es)?$/i.test(await prompt.ask('Approve it here? [y/N]', answered));
    const decide = isYes ? client.approveAlert : client.denyAlert;
    await unlessDecided(decide({ params: { id }, body: { reason: 'decided in the demo' } }));
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
  }
}

/** Another person may have decided first; that decision stands. */
async function unlessDecided(deciding: Promise<unknown>): Promise<void> {
  try {
    await deciding;
  } catch (error) {
    if (!(error instanceof ProblemError) || error.status !== 409) throw error;
  }
}
