import { setTimeout as pause } from 'node:timers/promises';
import { request } from 'undici';
import { Latencies } from '../../../harness/statistics.ts';
import { monotonicMs, until } from '../../../harness/time.ts';
import { measureLoad } from '../../measure-load.ts';
import { TEN_RULES } from '../../rule-drafts.ts';
import { type Bench, check } from '../../scenario.ts';
import type { Stage } from '../../stage.ts';
import { SlackWorkspace } from './slack-workspace.ts';

const EVENTS_PER_SECOND = 1_000;
const CLICKS_PER_SECOND = 20;
const WARM_UP_CLICKS = 40;
const GOAL_P99_MS = 300;
const ASKING_AT_ONCE = 8;
const DEADLINE_MS = 60_000;
/** A person who sees no change for this long presses again. */
const PATIENCE_MS = 10_000;
const MAX_REPEATS = 5;
const POLL_MS = 100;

const ASK_A_PERSON = {
  ...{ name: 'Payments need a person', conditionType: 'tool_name', conditionConfig: { value: 'pay*' } },
  ...{ actionType: 'require_approval', actionConfig: { title: 'May it pay?' }, cooldownMinutes: 0 },
};

interface Click {
  readonly ts: string;
  readonly status: number;
  readonly sentAtMs: number;
}

/** A person presses Approve in a chat, many times a second, while agents report. */
export async function measureClicks(bench: Bench, stage: Stage): Promise<void> {
  const slack = await SlackWorkspace.open();
  try {
    await stage.setRules([...TEN_RULES, ASK_A_PERSON]);
    await stage.put('/api/channels/chat', { config: slack.config });
    await stage.put('/api/routes', { routes: [{ id: 'all', channels: ['chat'] }] });
    const measured = Math.ceil(CLICKS_PER_SECOND * bench.seconds);
    const total = WARM_UP_CLICKS + measured;
    bench.progress(`channels: opening ${total} approvals`);
    await openApprovals(stage, total);
    await until('the messages in the chat', async () => (slack.messages.size < total ? undefined : true), DEADLINE_MS);
    const waiting = [...slack.messages.keys()];
    await linkAccount(stage, slack, waiting[0] ?? '');
    await pressAll(stage, slack, waiting.slice(0, WARM_UP_CLICKS), new Latencies());
    bench.progress(`channels: ${CLICKS_PER_SECOND} clicks/s beside ${EVENTS_PER_SECOND} events/s`);
    const answers = new Latencies();
    const load = { batchSize: 10, concurrency: 64, eventsPerSecond: EVENTS_PER_SECOND, seconds: bench.seconds };
    const [figure, clicks] = await Promise.all([
      measureLoad(stage, { scenario: 'channels', variant: 'clicks', ...load }),
      pressAll(stage, slack, waiting.slice(WARM_UP_CLICKS), answers),
    ]);
    const again = await pressAgain(stage, slack, total);
    const shown = findShown(slack, clicks);
    const missing = findWithoutOutcome(slack);
    bench.found({
      ...figure,
      variant: `${CLICKS_PER_SECOND} clicks/s beside ${EVENTS_PER_SECOND.toLocaleString('en')} events/s`,
      latency: { ...figure.latency, 'click to answer': answers.summary(), 'click to changed message': shown.summary() },
      checks: [
        ...figure.checks,
        check('approvals shown, each in one message', total, slack.messages.size),
        check('calls approved', total, await countApproved(stage)),
        check('messages that show the outcome', total, countOutcomes(slack)),
      ],
      notes: {
        ...figure.notes,
        ...{ 'goal, click to answer p99 ms': GOAL_P99_MS, 'clicks to repeat': again },
        'clicks that were not taken': clicks.filter(({ status }) => status !== 200).length,
        // A change is sent again if the answer to it was lost.
        'messages changed more than once': [...slack.messages.values()].filter(({ changes }) => changes.length > 1)
          .length,
        ...(missing.length === 0 ? {} : { 'without an outcome': await explainMissing(stage, missing) }),
      },
    });
  } finally {
    await stage.put('/api/routes', { routes: [{ id: 'all', channels: [] }] });
    await stage.delete('/api/channels/chat');
    await stage.setRules([]);
    await stage.forgetRows(['alerts', 'approval_votes', 'notices', 'notice_alerts', 'chat_links', 'deliveries']);
    await stage.forgetEvents();
    await slack.close();
  }
}

async function openApprovals({ stack }: Stage, total: number): Promise<void> {
  let next = 0;
  const ask = async () => {
    while (next < total) {
      next += 1;
      const answer = await request(`${stack.ingestUrl}/v1/runs/bench-run-${next}/evaluate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ phase: 'tool.before', agentId: 'payer', tool: { name: 'pay_invoice' }, args: { amount: next } },
          ...{ tags: {}, deadlineMs: 5_000 },
        }),
      });
      const { cause } = (await answer.body.json()) as { readonly cause?: { readonly kind: string } };
      if (cause?.kind !== 'HITL_PENDING')
        throw new Error(`a call was answered with ${answer.statusCode} ${cause?.kind}`);
    }
  };
  await Promise.all(Array.from({ length: ASKING_AT_ONCE }, ask));
}

/** Follows the invitation that an account without a link gets. */
async function linkAccount(stage: Stage, slack: SlackWorkspace, ts: string): Promise<void> {
  await press(stage, slack, ts);
  const invitation = await until('an invitation to link the account', async () => slack.replies[0], DEADLINE_MS);
  const token = invitation.slice(invitation.lastIndexOf(' ') + 1);
  await stage.post('/api/chat-links', { token }, 200);
}

/** Presses the buttons at a steady rate, whether or not the answers to earlier ones have arrived. */
async function pressAll(
  stage: Stage,
  slack: SlackWorkspace,
  messages: readonly string[],
  answers: Latencies,
): Promise<Click[]> {
  const startedAt = monotonicMs();
  const clicks = messages.map(async (ts, n) => {
    await pause(Math.max(0, startedAt + (n * 1_000) / CLICKS_PER_SECOND - monotonicMs()));
    const sentAtMs = monotonicMs();
    const status = await press(stage, slack, ts);
    answers.record((monotonicMs() - sentAtMs) * 1_000);
    return { ts, status, sentAtMs };
  });
  return Promise.all(clicks);
}

/** @returns the status of the answer: 200, or 503 if the click was not taken, which Slack shows to the person */
async function press({ stack }: Stage, slack: SlackWorkspace, ts: string): Promise<number> {
  const button = slack.messages.get(ts)?.approve;
  if (button === undefined) throw new Error(`the message ${ts} has no Approve button`);
  const url = `${stack.queryUrl}/api/slack/default/chat/interactivity`;
  const answer = await request(url, { method: 'POST', ...slack.press(button) });
  await answer.body.dump();
  if (answer.statusCode !== 200 && answer.statusCode !== 503)
    throw new Error(`a click was answered with ${answer.statusCode}`);
  return answer.statusCode;
}

/** What a person does whose click has changed nothing yet. Ends when every message shows its outcome, or after a minute. */
async function pressAgain(stage: Stage, slack: SlackWorkspace, total: number): Promise<number> {
  let again = 0;
  for (let round = 0; round < MAX_REPEATS; round++) {
    if (await areShown(slack, total)) return again;
    for (const ts of findWithoutOutcome(slack)) {
      again += 1;
      await press(stage, slack, ts);
    }
  }
  await areShown(slack, total);
  return again;
}

async function areShown(slack: SlackWorkspace, total: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += POLL_MS) {
    if (countOutcomes(slack) >= total) return true;
    await pause(POLL_MS);
  }
  return false;
}

function findShown(slack: SlackWorkspace, clicks: readonly Click[]): Latencies {
  const latencies = new Latencies();
  for (const { ts, sentAtMs } of clicks) {
    const changedAtMs = slack.messages.get(ts)?.changes[0]?.atMs;
    if (changedAtMs !== undefined) latencies.record((changedAtMs - sentAtMs) * 1_000);
  }
  return latencies;
}

function findWithoutOutcome({ messages }: SlackWorkspace): string[] {
  return [...messages].filter(([, { changes }]) => !showsOutcome(changes)).map(([ts]) => ts);
}

function showsOutcome(changes: readonly { readonly text: string }[]): boolean {
  return changes.at(-1)?.text.startsWith('Approval approved by ') === true;
}

function countOutcomes(slack: SlackWorkspace): number {
  return slack.messages.size - findWithoutOutcome(slack).length;
}

/** Where the outcomes of messages are: in the approval, in the delivery of the change, or nowhere. */
async function explainMissing({ pool }: Stage, missing: readonly string[]): Promise<string> {
  const { rows } = await pool.query<{ readonly state: string; readonly messages: number }>(
    `select concat_ws(', ', 'approval ' || a.status, coalesce('change ' || c.result || ' after ' || c.attempts || ' attempts'
         || coalesce(': ' || c.detail, ''), 'no change queued')) as state, count(*)::int as messages
     from deliveries p
       join notices n on n.tenant_id = p.tenant_id and n.delivery_id = p.delivery_id and n.reason = 'approval'
       join notice_alerts s on s.tenant_id = n.tenant_id and s.notice_id = n.notice_id
       join alerts a on a.tenant_id = s.tenant_id and a.alert_id = s.alert_id
       left join lateral (
         select d.* from notices o join notice_alerts t using (tenant_id, notice_id) join deliveries d using (tenant_id, delivery_id)
         where t.tenant_id = a.tenant_id and t.alert_id = a.alert_id and o.reason = 'changed'
         order by d.order_n desc limit 1) c on true
     where p.receipt = any($1)
     group by 1 order by 2 desc`,
    [missing],
  );
  const known = rows.reduce((sum, { messages }) => sum + messages, 0);
  const rest = missing.length - known;
  const states = rows.map(({ state, messages }) => `${messages}: ${state}`);
  return [...states, ...(rest === 0 ? [] : [`${rest}: posted again, the receipt is of another message`])].join(' · ');
}

async function countApproved({ pool }: Stage): Promise<number> {
  const { rows } = await pool.query<{ approved: number }>(
    `select count(*)::int as approved from alerts where kind = 'approval' and status = 'approved'`,
  );
  return rows[0]?.approved ?? 0;
}
