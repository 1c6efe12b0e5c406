import type { CommandFile } from '../../command-file.ts';
import { giveOrder, type OrderState } from '../give-order.ts';

/** The command that brings one run into a state: `agentlens runs pause run-1`. */
export function runOrderCommand(state: OrderState): CommandFile['define'] {
  return (command, context) => {
    command
      .argument('<id>', 'the run')
      .option('--reason <text>', 'why, for everybody who sees the order')
      .option('--no-wait', 'do not wait until the agent acknowledges')
      .action((id, { reason, wait }) => giveOrder(context, { scope: 'run', id, state, reason, wait }));
  };
}
