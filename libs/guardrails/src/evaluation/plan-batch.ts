import type { EventBatch } from '@agentlens/contracts';
import type { RuleBook } from '../rules/rule-book.ts';
import { type EvaluationPlan, type Indexed, planAgent } from './plan.ts';

/** Plans a batch per agent, for the agents that any rule listens to. */
export function planBatch(book: RuleBook, batch: EventBatch): EvaluationPlan[] {
  const byAgent = new Map<string, Indexed[]>();
  batch.events.forEach((event, index) => {
    const events = byAgent.get(event.agentId);
    if (events === undefined) byAgent.set(event.agentId, [[index, event]]);
    else events.push([index, event]);
  });
  return [...byAgent].flatMap(([agentId, events]) => planAgent(book, batch, agentId, events) ?? []);
}
