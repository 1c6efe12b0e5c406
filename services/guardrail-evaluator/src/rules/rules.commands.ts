import { COMMANDS } from '@agentlens/contracts';
import type { EventBus, Subscription } from '@agentlens/messaging';
import type { RuleWriter } from './rule-writer.ts';

/** Answers the commands on rules; replicas share them. */
export async function serveRuleCommands(bus: EventBus, writer: RuleWriter): Promise<Subscription[]> {
  return [
    await bus.serve(COMMANDS.createRule, ({ tenantId, body }) => writer.create(tenantId, body)),
    await bus.serve(COMMANDS.updateRule, ({ tenantId, ruleId, body }) => writer.update(tenantId, ruleId, body)),
    await bus.serve(COMMANDS.deleteRule, ({ tenantId, ruleId }) => writer.delete(tenantId, ruleId)),
  ];
}
