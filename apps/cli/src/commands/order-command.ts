import { usageError } from '../command-error.ts';
import type { CommandFile } from '../command-file.ts';
import { giveOrder, ORDER_SCOPES, type OrderScope, type OrderState } from './give-order.ts';

const VERBS: Readonly<Record<OrderState, string>> = { killed: 'Kill', paused: 'Pause', running: 'Resume' };

/** The command that brings a run, an agent or the tenant into a state: `agentlens kill agent support-bot`. */
export function orderCommand(state: OrderState): CommandFile['define'] {
  return (command, context) => {
    command
      .argument('<scope>', ORDER_SCOPES.join(', '))
      .argument('[id]', 'of the run or agent')
      .option('--reason <text>', 'why, for everybody who sees the order')
      .option('--no-wait', 'do not wait until the agents acknowledge')
      .action(async (scope, id, { reason, wait }) => {
        if (!isOrderScope(scope)) throw usageError(`"${scope}" is none of ${ORDER_SCOPES.join(', ')}`);
        if (scope !== 'tenant' && id === undefined) throw usageError(`Which ${scope}? Give its id.`);
        if (scope === 'tenant' && id !== undefined) throw usageError('The tenant is the one of the key: give no id.');
        const whom = scope === 'tenant' ? 'every agent of the tenant' : `every run of agent ${id}`;
        // A single run is stopped at once: whoever stops it is in a hurry.
        if (scope !== 'run') await context.confirm(`${VERBS[state]} ${whom}?`);
        await giveOrder(context, { scope, id, state, reason, wait });
      });
  };
}

function isOrderScope(word: string): word is OrderScope {
  return ORDER_SCOPES.some((scope) => scope === word);
}
