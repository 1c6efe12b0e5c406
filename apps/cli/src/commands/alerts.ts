import { type Client, pages } from '@agentlens/client';
import type { AlertAnswer, DefineCommand } from '../context.ts';
import { type Paint, toneOf } from '../output/style.ts';
import { type Column, details, instant, plainText, timeOfDay } from '../output/table.ts';
import { count, instantBefore } from '../parse.ts';
import { PROGRAM } from '../program-name.ts';
import { PAGE, printList } from './print-list.ts';

const ALERT_COLUMNS: readonly Column<AlertAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'status', value: ({ status }) => status, tone: toneOf },
  { title: 'kind', value: ({ kind }) => kind },
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'since', value: ({ createdAt }) => instant(createdAt) },
  { title: 'expires', value: ({ expiresAt }) => instant(expiresAt) },
  { title: 'title', value: ({ title }) => title },
];

function alertDetails(alert: AlertAnswer, paint: Paint): string {
  const { approval } = alert;
  return details(
    [
      ['Alert', alert.id, 'strong'],
      ['Title', alert.title],
      ['Message', alert.message],
      ['Status', alert.status, toneOf(alert.status)],
      ['Severity', alert.severity, toneOf(alert.severity)],
      ['Kind', alert.kind],
      ['Agent', alert.agentId],
      ['Run', alert.runId],
      ['Rule', alert.ruleId],
      ['Tool', approval?.toolName],
      ['Arguments', approval && `SHA-256 ${approval.argsHash}`],
      ['Since', instant(alert.createdAt)],
      ['Expires', instant(alert.expiresAt)],
      ['Seen', alert.acknowledgedBy && `by ${alert.acknowledgedBy}`],
      ['Decided', alert.decidedBy && `by ${alert.decidedBy}, ${instant(alert.decidedAt) ?? ''}`],
      ['Reason', alert.reason],
      ['Used', instant(alert.usedAt)],
    ],
    paint,
  );
}

export const listAlerts: DefineCommand = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--status <words>', 'pending, acknowledged, approved, denied, expired, cancelled; comma-separated')
    .option('--kind <words>', 'approval, breaker, rule, spend, security, change; comma-separated')
    .option('--agent <id>', 'only alerts of this agent')
    .option('--run <id>', 'only alerts of this run')
    .option('--from <time>', 'start: an instant, a date or an age such as 2h', when)
    .option('--to <time>', 'end: an instant, a date or an age such as 2h', when)
    .option('--limit <n>', 'maximum number of alerts', count, 50)
    .action(async ({ status, kind, agent, run, from, to, limit }) => {
      const client = await context.connect();
      const query = { status, kind, agentId: agent, runId: run, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listAlerts, { query }),
        itemsOf: ({ alerts }) => alerts,
        columns: ALERT_COLUMNS,
        none: 'No alerts match.',
        limit,
      });
    });
};

export const showAlert: DefineCommand = (command, context) => {
  command.argument('<id>', 'the alert').action(async (id) => {
    const client = await context.connect();
    const alert = await client.getAlert({ params: { id } });
    context.output.print(alert, () => alertDetails(alert, context.output.paint));
  });
};

type Deciding = 'approveAlert' | 'denyAlert' | 'cancelAlert' | 'acknowledgeAlert';

/** Defines the command for one of the four actions a person can take on an alert. */
function decideCommand(operation: Deciding): DefineCommand {
  return (command, context) => {
    command
      .argument('<id>', 'the alert')
      .option('--reason <text>', 'reason, recorded in the audit log and sent to the agent')
      .action(async (id, { reason }) => {
        const decide: Client[Deciding] = (await context.connect())[operation];
        const alert = await decide({ params: { id }, body: { reason } });
        context.output.print(alert, () => alertDetails(alert, context.output.paint));
      });
  };
}

export const acknowledgeAlert = decideCommand('acknowledgeAlert');

export const cancelAlert = decideCommand('cancelAlert');

/** Statuses of an undecided approval; acknowledging an approval does not decide it. */
const WAITING = 'pending,acknowledged';

export const listApprovals: DefineCommand = (command, context) => {
  command
    .option('--agent <id>', 'only calls of this agent')
    .option('--run <id>', 'only calls of this run')
    .option('--all', 'include decided, expired and cancelled approvals')
    .option('--limit <n>', 'maximum number of approvals', count, 50)
    .action(async ({ agent, run, all, limit }) => {
      const client = await context.connect();
      const narrowing = { kind: 'approval', agentId: agent, runId: run, status: all === true ? undefined : WAITING };
      await printList(context, {
        pages: pages(client.listAlerts, { query: { ...narrowing, limit: Math.min(limit, PAGE) } }),
        itemsOf: ({ alerts }) => alerts,
        columns: ALERT_COLUMNS.filter(({ title }) => title !== 'kind'),
        none: 'No call needs approval.',
        limit,
      });
    });
};

const APPROVALS = { kind: 'approval' };

export const watchApprovals: DefineCommand = (command, context) => {
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
        // The first heartbeat confirms that the stream is open; approvals requested earlier come from the list.
        waitingShown = true;
        for await (const { alerts } of pages(client.listAlerts, { query: { ...query, status: WAITING, limit: PAGE } }))
          for (const alert of alerts) show(alert);
        output.note(`Watching. To decide, run in another terminal: ${PROGRAM} approvals approve ID (or deny ID)`);
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

export const approveApproval = decideCommand('approveAlert');

export const denyApproval = decideCommand('denyAlert');
