import type { CommandFile } from '../../command-file.ts';
import { instantFrom } from '../../parse/instant.ts';
import { count } from '../../parse/numbers.ts';
import { printNewKey } from './columns.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<name>', 'what to call it')
    .option('--scopes <words>', 'ingest, decide, read, review, admin; several with commas', 'ingest,decide,read')
    .option('--agents <ids>', 'good for these agents only, with commas; needs scopes of ingest and decide')
    .option('--expires <time>', 'an instant, a date or a time from now like 30d', instantFrom(context.host.nowMs))
    .option('--events-per-second <n>', 'its quota', count)
    .action(async (name, { scopes, agents, expires, eventsPerSecond }) => {
      const client = await context.connect();
      const of = { scopes: wordsOf(scopes), agents: agents === undefined ? undefined : wordsOf(agents) };
      printNewKey(context, await client.createKey({ body: { name, ...of, expiresAt: expires, eventsPerSecond } }));
    });
};

function wordsOf(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}
