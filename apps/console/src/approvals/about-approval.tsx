import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Alert, Rule } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { ProofButton } from '../log/proof.tsx';
import { DECIDED } from './decided.ts';

/** Agent, run and rule of the call, and who decided it. */
export function WhoAsks({ alert, rule }: { alert: Alert; rule: Rule | undefined }) {
  return (
    <Section
      title="Who asks"
      link={
        <span className="ml">
          <ProofButton kind="approval" id={alert.id} />
        </span>
      }
    >
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

/** `ann: it was paid already`. */
function whoAndWhy({ decidedBy, reason, status }: Alert): string {
  if (decidedBy === undefined) return visible(reason ?? status);
  // Without the id of the key.
  const who = visibleName(decidedBy.replace(/ \([^()]+\)$/, ''));
  return reason === undefined ? who : `${who}: ${visible(reason)}`;
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
            <span className="clip" title={whoAndWhy(one)}>
              {whoAndWhy(one)}
            </span>
            <span className="r t3 num">
              <Moment at={one.decidedAt ?? one.createdAt} short />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}
