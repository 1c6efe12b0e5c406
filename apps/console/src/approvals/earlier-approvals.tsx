import { visible } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Alert } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { DECIDED } from './decided.ts';

/** Earlier approvals of this rule. */
export function EarlierApprovals({ alert }: { alert: Alert }) {
  const ruleId = alert.ruleId ?? alert.approval?.ruleId;
  const past = useRead(
    ['alerts', 'like', ruleId],
    (signal) =>
      client.listAlerts({ query: { kind: 'approval', ruleId, status: 'approved,denied,expired', limit: 100 }, signal }),
    ruleId !== undefined,
  );
  const alerts = past.data?.alerts.filter(({ id }) => id !== alert.id) ?? [];
  const count = (status: Alert['status']) => alerts.filter((one) => one.status === status).length;
  return (
    <Section title="Earlier approvals">
      <ul className="sim">
        <li>
          <span className="t2">Approved</span>
          <b className="r num">{count('approved')}</b>
        </li>
        <li>
          <span className="t2">Denied</span>
          <b className="r num">{count('denied')}</b>
        </li>
        {alerts.slice(0, 3).map((one) => (
          <li key={one.id}>
            <State mark={DECIDED[one.status]} wordless />
            <span className="clip">{visible(one.reason ?? one.decidedBy ?? 'expired')}</span>
            <span className="r t3 num">
              <Moment at={one.decidedAt ?? one.createdAt} short />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
