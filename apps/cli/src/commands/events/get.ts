import type { CommandFile } from '../../command-file.ts';
import { duration, instant, usd } from '../../output/format.ts';

export const define: CommandFile['define'] = (command, context) => {
  command.argument('<id>', 'the event').action(async (id) => {
    const client = await context.connect();
    const event = await client.getEvent({ params: { id } });
    context.output.printDetails(event, [
      ['Event', event.id],
      ['At', instant(event.timestamp)],
      ['Type', event.eventType],
      ['Severity', event.severity],
      ['Agent', event.agentId],
      ['Run', event.sessionId],
      ['Tool', event.toolName],
      ['Model', event.model],
      ['Cost', usd(event.usage.costUsd)],
      ['Took', duration(event.usage.latencyMs)],
      ['Tags', event.tags.join(', ')],
      ['Payload', JSON.stringify(event.payload)],
      ['Metadata', JSON.stringify(event.metadata)],
    ]);
  });
};
