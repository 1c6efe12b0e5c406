import type { AnswerOf } from '../../api-types.ts';
import { instant, usd } from '../../output/format.ts';
import type { Paint } from '../../output/style.ts';
import { details } from '../../output/table.ts';
import { controlRows } from '../control-rows.ts';

export function agentDetails(agent: AnswerOf<'getAgent'>, paint: Paint): string {
  return details(
    [
      ['Agent', agent.id, 'strong'],
      ['Name', agent.name],
      ['Description', agent.description],
      ...controlRows(agent.control),
      ['Model', agent.modelOverride && `told to use ${agent.modelOverride}: ${agent.modelOverrideReason ?? ''}`],
      ['Tags', agent.tags.join(', ')],
      ['Tools', agent.tools.map(({ name }) => name).join(', ')],
      ['First seen', instant(agent.firstSeenAt)],
      ['Last seen', instant(agent.lastSeenAt)],
      ['Runs', agent.sessionCount],
      ['Events', `${agent.eventCount}, ${agent.errorCount} errors`],
      ['Cost', usd(agent.totalCostUsd)],
    ],
    paint,
  );
}
