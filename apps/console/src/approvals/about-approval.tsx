import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Alert, Rule } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { DECIDED } from './decided.ts';

/** Agent, run and rule of the call, and who decided it. */
export function WhoAsks({ alert, rule }: { alert: Alert; rule: Rule | undefined }) {
  return (
    <Section title="Who asks">
      <Facts
        facts={[
          [
            'Agent',
            <Link key="a" to="/agents/$id" params={{ id: alert.agentId }}>
              {visibleName(alert.agentId)}
            </Link>,
          ],
          alert.runId !== undefined && [
            'Run',
            <Link key="r" to="/runs/$id" params={{ id: alert.runId }}>
              {shortId(alert.runId)}
            </Link>,
          ],
          ['Rule', rule === undefined ? 'deleted' : ruleVersionsOf(alert, rule)],
          ['Asked', <Moment key="m" at={alert.createdAt} />],
          ['Seen by', alert.acknowledgedBy ?? 'not decided'],
          alert.decidedBy !== undefined && ['Decided by', alert.decidedBy],
          alert.reason !== undefined && ['Reason', alert.reason],
        ]}
      />
    </Section>
  );
}

function ruleVersionsOf(alert: Alert, rule: Rule): string {
  const asked = alert.approval?.ruleVersion ?? rule.version;
  return `version ${asked}${asked === rule.version ? '' : `, now ${rule.version}`}`;
}

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
