import type { CommandFile } from '../command-file.ts';
import { timeOfDay } from '../output/format.ts';
import { plainText } from '../output/plain-text.ts';
import { frameLine, TAILED_KINDS } from './frame-line.ts';

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--agent <id>', 'only what concerns this agent')
    .option('--run <id>', 'only what concerns this run')
    .option('--kinds <names>', 'what to follow', TAILED_KINDS.join(','))
    .option('--type <names>', 'only events of these types, like tool_error; several with commas')
    .action(async ({ agent, run, kinds, type }) => {
      const { output, host } = context;
      const client = await context.connect();
      // A stream is made again when it breaks; whether it can be had at all is asked first.
      await client.getMe();
      const query = { agentId: agent, sessionId: run, kinds, eventType: type };
      for await (const frame of client.openStream({ query, signal: host.signal })) {
        if (frame.event === 'heartbeat') continue;
        if (frame.event === 'dropped') {
          output.note(`Missed ${frame.data.count} messages: this terminal is too slow for them.`);
        } else if (frame.event === 'closed') {
          output.note(`The platform ended the stream: ${plainText(frame.data.reason)}`);
        } else {
          const { text, tone } = frameLine(frame);
          output.printItem(frame, () => {
            const head = [output.paint('quiet', timeOfDay(host.nowMs())), output.paint(tone, frame.event.padEnd(14))];
            return [...head, plainText(text)].join('  ');
          });
        }
      }
    });
};
