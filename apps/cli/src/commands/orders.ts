import type { AnswerOf, CommandContext, DefineCommand } from '../context.ts';
import { usageError } from '../errors.ts';
import { withProgress } from '../output/output.ts';
import { toneOf } from '../output/style.ts';
import { details, duration } from '../output/table.ts';

const ORDER_SCOPES = ['run', 'agent', 'tenant'] as const;
type OrderScope = (typeof ORDER_SCOPES)[number];
export type OrderState = 'killed' | 'paused' | 'running';

/** Maximum time the platform waits for acknowledgements, in ms. */
const WAIT_MS = 10_000;

export interface Order {
  readonly scope: OrderScope;
  /** Id of the run or agent; undefined for the tenant. */
  readonly id: string | undefined;
  readonly state: OrderState;
  readonly reason: string | undefined;
  /** False: return without waiting for acknowledgements. */
  readonly wait: boolean;
}

/** Kills, pauses or resumes, and prints how many instances acknowledged. */
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
    output.note('Some connected instances have not acknowledged. The order is enforced at every decision regardless.');
  }
}

function orderText(answer: AnswerOf<'createOrder'>, paint: CommandContext['output']['paint']): string {
  const { order, connected, acknowledged, slowestMs } = answer;
  return details(
    [
      ['Order', order.id],
      ['Scope', order.scope === 'tenant' ? `tenant ${order.scopeId}` : `${order.scope} ${order.scopeId}`],
      ['State', order.state, toneOf(order.state)],
      ['Reason', order.reason],
      ['By', order.by],
      ['Acknowledged', `${acknowledged} of ${connected ?? 'an unknown number of'} connected instances`],
      ['Slowest', duration(slowestMs)],
    ],
    paint,
  );
}

const VERBS: Readonly<Record<OrderState, string>> = { killed: 'Kill', paused: 'Pause', running: 'Resume' };

/** Defines a command that orders a state for a run, an agent or the tenant: `agentlens kill agent support-bot`. */
function orderCommand(state: OrderState): DefineCommand {
  return (command, context) => {
    command
      .argument('<scope>', ORDER_SCOPES.join(', '))
      .argument('[id]', 'id of the run or agent')
      .option('--reason <text>', 'reason, shown with the order')
      .option('--no-wait', 'do not wait for acknowledgements')
      .action(async (scope, id, { reason, wait }) => {
        if (!isOrderScope(scope)) throw usageError(`"${scope}" is not one of ${ORDER_SCOPES.join(', ')}`);
        if (scope !== 'tenant' && id === undefined) throw usageError(`Missing id of the ${scope}.`);
        if (scope === 'tenant' && id !== undefined) throw usageError('The key determines the tenant; omit the id.');
        const whom = scope === 'tenant' ? 'every agent of the tenant' : `every run of agent ${id}`;
        // A single run is stopped without confirmation, because speed matters more.
        if (scope !== 'run') await context.confirm(`${VERBS[state]} ${whom}?`);
        await giveOrder(context, { scope, id, state, reason, wait });
      });
  };
}

function isOrderScope(word: string): word is OrderScope {
  return ORDER_SCOPES.some((scope) => scope === word);
}

export const kill = orderCommand('killed');

export const pause = orderCommand('paused');

export const resume = orderCommand('running');
