import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { client } from '../api/client.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';

/** One thing somebody did. */
interface Act {
  readonly id: string;
  readonly at: string;
  readonly who: string;
  readonly mark: { readonly icon: string; readonly tone: string; readonly word: string };
  readonly what: ReactNode;
  readonly reason: string;
}

const ORDERS = {
  killed: { icon: 's-killed', tone: 'killed', word: 'Killed' },
  paused: { icon: 's-paused', tone: 'paused', word: 'Paused' },
  running: { icon: 'play', tone: 'no', word: 'Resumed' },
};

/** Who did what: standing orders, and what people decided. */
async function readActs(signal: AbortSignal): Promise<Act[]> {
  const [{ orders }, { alerts }] = await Promise.all([
    client.listOrders({ query: { limit: 200 }, signal }),
    client.listAlerts({ query: { status: 'acknowledged,approved,denied,cancelled', limit: 200 }, signal }),
  ]);
  const ordered = orders.map(
    (order): Act => ({
      id: order.id,
      at: order.issuedAt,
      who: order.by,
      mark: ORDERS[order.state],
      what: <Target order={order} />,
      reason: order.reason,
    }),
  );
  const decided = alerts.flatMap((alert): Act[] => {
    const what = (
      <Link
        key={alert.id}
        className="link"
        to={alert.kind === 'approval' ? '/approvals' : '/alerts'}
        search={{ id: alert.id }}
      >
        {alert.approval?.toolName ?? alert.title}
      </Link>
    );
    const seen: Act[] =
      alert.acknowledgedAt === undefined
        ? []
        : [
            {
              id: `${alert.id} seen`,
              at: alert.acknowledgedAt,
              who: alert.acknowledgedBy ?? 'not known',
              mark: { icon: 'check', tone: 'no', word: 'Looked at' },
              what,
              reason: '',
            },
          ];
    if (alert.decidedAt === undefined || alert.decidedBy === undefined) return seen;
    const mark =
      alert.status === 'approved'
        ? { icon: 'v-allow', tone: 'allow', word: 'Approved' }
        : alert.status === 'denied'
          ? { icon: 'v-block', tone: 'block', word: 'Denied' }
          : { icon: 's-cancelled', tone: 'no', word: 'Closed' };
    return [
      ...seen,
      { id: alert.id, at: alert.decidedAt, who: alert.decidedBy, mark, what, reason: alert.reason ?? '' },
    ];
  });
  return [...ordered, ...decided].sort((a, b) => (a.at < b.at ? 1 : -1));
}

function Target({ order }: { order: { readonly scope: string; readonly scopeId: string } }) {
  if (order.scope === 'tenant') return 'every agent';
  const isRun = order.scope === 'run';
  return (
    <Link className="link" to={isRun ? '/runs/$id' : '/agents/$id'} params={{ id: order.scopeId }}>
      {isRun ? `run ${shortId(order.scopeId)}` : order.scopeId}
    </Link>
  );
}

export function AuditPage() {
  const acts = useRead(['orders', 'acts'], readActs);
  return (
    <Page name="audit" title="Audit" time="Newest first">
      <div className="bar0">
        <span className="t2">Orders that stand, and what people decided, with who did it.</span>
      </div>
      <div className="audit-list">
        <Read read={acts} what="What people did" rows={12}>
          {(rows) =>
            rows.length === 0 ? (
              <div className="pad">
                <Empty title="Nobody did anything yet.">
                  Stopping an agent and deciding a call appear here, with who did it and why.
                </Empty>
              </div>
            ) : (
              <table className="tb">
                <thead>
                  <tr>
                    <th>When</th>
                    <th>Who</th>
                    <th>Did</th>
                    <th>To</th>
                    <th className="not-s">Reason</th>
                  </tr>
                </thead>
                <tbody>
                  {rows.map((row) => (
                    <tr key={row.id}>
                      <td className="t3">
                        <Moment at={row.at} />
                      </td>
                      <td>{row.who.replace(/ \(\w+\)$/, '')}</td>
                      <td>
                        <State mark={row.mark} />
                      </td>
                      <td>{row.what}</td>
                      <td className="w100 clip t2 not-s">{row.reason}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )
          }
        </Read>
      </div>
    </Page>
  );
}
