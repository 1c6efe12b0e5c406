import { Link } from '@tanstack/react-router';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Alert, Rule } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';

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
