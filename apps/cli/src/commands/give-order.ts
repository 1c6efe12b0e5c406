import type { AnswerOf } from '../api-types.ts';
import type { CommandContext } from '../context.ts';
import { duration } from '../output/format.ts';
import { withProgress } from '../output/progress.ts';
import { toneOf } from '../output/style.ts';
import { details } from '../output/table.ts';

export const ORDER_SCOPES = ['run', 'agent', 'tenant'] as const;
export type OrderScope = (typeof ORDER_SCOPES)[number];
export type OrderState = 'killed' | 'paused' | 'running';

/** The longest the platform waits for acknowledgements, ms. */
const WAIT_MS = 10_000;

export interface Order {
  readonly scope: OrderScope;
  /** Of the run or agent; undefined for the tenant. */
  readonly id: string | undefined;
  readonly state: OrderState;
  readonly reason: string | undefined;
  /** False: do not wait for acknowledgements. */
  readonly wait: boolean;
}

/** Kills, pauses or resumes, and prints which agents acknowledged. */
export async function giveOrder(context: CommandContext, order: Order): Promise<void> {
  const { output } = context;
  const client = await context.connect();
  const { scope, id, state, reason, wait } = order;
  const rest = { state, reason, waitMs: wait ? WAIT_MS : 0 };
  const body = scope === 'tenant' ? { scope, ...rest } : { scope, id: id ?? '', ...rest };
  const timeoutMs = WAIT_MS + context.options.timeout * 1_000;
  const answer = await withProgress(output, 'waiting for acknowledgements', client.createOrder({ body, timeoutMs }));
  output.print(answer, () => orderText(answer, output.paint));
  if (answer.hint !== undefined) output.note(answer.hint);
  const { connected, acknowledged } = answer;
  if (wait && connected !== null && acknowledged < connected) {
    output.note('Not every connected instance has acknowledged. The order is enforced at every decision anyway.');
  }
}

function orderText(answer: AnswerOf<'createOrder'>, paint: CommandContext['output']['paint']): string {
  const { order, connected, acknowledged, slowestMs } = answer;
  return details(
    [
      ['Order', order.id],
      ['Scope', order.scope === 'tenant' ? `the whole tenant ${order.scopeId}` : `${order.scope} ${order.scopeId}`],
      ['State', order.state, toneOf(order.state)],
      ['Reason', order.reason],
      ['By', order.by],
      ['Acknowledged', `${acknowledged} of ${connected ?? 'an unknown number of'} connected instances`],
      ['Slowest', duration(slowestMs)],
    ],
    paint,
  );
}
