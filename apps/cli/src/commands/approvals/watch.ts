import { pages } from '@agentlens/client';
import type { AlertAnswer } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { timeOfDay } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { type Paint, toneOf } from '../../output/style.ts';
import { PAGE } from '../print-list.ts';
import { WAITING } from './waiting.ts';

const APPROVALS = { kind: 'approval' };

export const define: CommandFile['define'] = (command, context) => {
  command
    .option('--agent <id>', 'only calls of this agent')
    .option('--run <id>', 'only calls of this run')
    .action(async ({ agent, run }) => {
      const { output, host } = context;
      const client = await context.connect();
      const query = { ...APPROVALS, agentId: agent, runId: run };
      const shown = new Set<string>();
      const show = (alert: AlertAnswer) => {
        const version = `${alert.id}:${alert.version}`;
        if (shown.has(version)) return;
        shown.add(version);
        output.printItem(alert, () => approvalLine(alert, host.nowMs(), output.paint));
      };
      await client.getMe();
      let waitingShown = false;
      for await (const frame of client.openAlertStream({ query, signal: host.signal })) {
        if (frame.event === 'alert') show(frame.data);
        if (frame.event !== 'heartbeat' || waitingShown) continue;
        // The first heartbeat says that the stream is open: what was asked before it is read from the list.
        waitingShown = true;
        for await (const { alerts } of pages(client.listAlerts, { query: { ...query, status: WAITING, limit: PAGE } }))
          for (const alert of alerts) show(alert);
        output.note('Watching. Decide in another terminal: agentlens approvals approve ID (or deny ID)');
      }
    });
};

function approvalLine(alert: AlertAnswer, nowMs: number, paint: Paint): string {
  const { status, usedAt, id, agentId, title, decidedBy, reason } = alert;
  const state = usedAt === undefined ? status : 'used';
  const by = decidedBy === undefined ? '' : ` by ${decidedBy}${reason === undefined ? '' : `: ${reason}`}`;
  const words = [plainText(id), plainText(agentId), plainText(title + by)];
  return [paint('quiet', timeOfDay(nowMs)), paint(toneOf(state), state.padEnd(12)), ...words].join('  ');
}
