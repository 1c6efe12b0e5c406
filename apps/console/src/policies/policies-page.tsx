import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { StoredPolicy } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { useOnCall, usePeople, useTeams } from '../people/use-people.ts';
import { SettingsFrame } from '../settings/settings-frame.tsx';
import { useMay } from '../shell/me.tsx';
import { Act } from '../ui/act.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { useRejection } from '../ui/field.tsx';
import { Section } from '../ui/section.tsx';
import { PolicyDialog } from './policy-dialog.tsx';
import { approversText, conditionsText, countNamed, matchText } from './policy-text.ts';

/** Who decides approvals: the first policy that matches a call applies. */
export function PoliciesPage() {
  const { may } = useMay('admin');
  const policies = useRead(['policies'], (signal) => client.listApprovalPolicies({ signal }));
  const [open, setOpen] = useState<StoredPolicy | 'new'>();
  return (
    <SettingsFrame title="Approval policies">
      <Read read={policies} what="Approval policies" rows={4}>
        {(data) => (
          <>
            <Section
              first
              title="Approval policies"
              note={<span className="not-s">the first that matches a call applies</span>}
              link={
                <span className="ml">
                  <Act scope="admin" kind="sm" onPress={() => setOpen('new')}>
                    New policy…
                  </Act>
                </span>
              }
            >
              {data.policies.length === 0 ? (
                <Empty title="Everyone who may review decides alone.">
                  A policy says who decides certain calls, how many must agree, and who may not.
                </Empty>
              ) : (
                <PolicyTable policies={data.policies} onOpen={setOpen} />
              )}
            </Section>
            {data.policies.length > 0 && <WhichApplies />}
            {open !== undefined && may && (
              <PolicyDialog
                stored={open === 'new' ? undefined : open}
                nextPlace={(data.policies.at(-1)?.place ?? 0) + 10}
                onClose={() => setOpen(undefined)}
              />
            )}
          </>
        )}
      </Read>
    </SettingsFrame>
  );
}

function PolicyTable({
  policies,
  onOpen,
}: {
  policies: readonly StoredPolicy[];
  onOpen: (policy: StoredPolicy) => void;
}) {
  const { may } = useMay('admin');
  const teams = useTeams().data?.teams ?? [];
  const schedules = useOnCall().data?.schedules ?? [];
  const people = usePeople(may).data?.people ?? [];
  return (
    <table className="tb flush">
      <thead>
        <tr>
          <th className="r not-s">Place</th>
          <th>Policy</th>
          <th>Who decides</th>
          <th className="not-s">Conditions</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {policies.map((stored) => {
          const { id, place, policy } = stored;
          const named = countNamed(policy, teams, schedules);
          return (
            <tr key={id}>
              <td className="r num t3 not-s">{place}</td>
              <td>
                <span className="strong">{visibleName(policy.name)}</span>{' '}
                {policy.mode === 'report' && <span className="mode shadow">report only</span>}
                <span className="rule-sentence">{matchText(policy)}</span>
              </td>
              <td className="w100">
                <span className="num">{policy.quorum}</span> of {approversText(policy, { teams, people, schedules })}
                {named !== undefined && named < policy.quorum && (
                  <>
                    {' '}
                    <span className="tag warn" title="Its approvals expire as denials">
                      {named === 0 ? 'no person may decide' : `only ${named} may decide`}
                    </span>
                  </>
                )}
              </td>
              <td className="t2 not-s">{conditionsText(policy)}</td>
              <td className="act">
                <Act
                  scope="admin"
                  kind="sm"
                  label={`Change ${visibleName(policy.name)}`}
                  onPress={() => onOpen(stored)}
                >
                  Change…
                </Act>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** Asks the platform which policy applies to a call. */
function WhichApplies() {
  const [agentId, setAgent] = useState('');
  const [toolName, setTool] = useState('');
  const [answer, setAnswer] = useState<string>();
  const rejection = useRejection();
  const explain = async () => {
    rejection.clear();
    setAnswer(undefined);
    try {
      const { policy } = await client.explainApprovalPolicy({
        body: { agentId: agentId.trim(), toolName: toolName.trim() },
      });
      setAnswer(
        policy === null
          ? 'No policy matches: everyone who may review decides alone.'
          : `“${visibleName(policy.policy.name)}” applies.`,
      );
    } catch (error) {
      rejection.set(error);
    }
  };
  return (
    <Section title="Which policy applies?">
      <form
        className="row wrap topped"
        onSubmit={(event) => {
          event.preventDefault();
          if (agentId.trim() !== '' && toolName.trim() !== '') void explain();
        }}
      >
        <label className="row">
          <span className="t2">Agent</span>
          <input
            className="in mono"
            placeholder="billing-1"
            value={agentId}
            onChange={(event) => setAgent(event.target.value)}
          />
        </label>
        <label className="row">
          <span className="t2">Tool</span>
          <input
            className="in mono"
            placeholder="pay_invoice"
            value={toolName}
            onChange={(event) => setTool(event.target.value)}
          />
        </label>
        <button
          type="submit"
          className="b"
          aria-disabled={agentId.trim() === '' || toolName.trim() === '' || undefined}
        >
          Show
        </button>
        <span role="status">{answer}</span>
      </form>
      <FailureLine>{rejection.besides()}</FailureLine>
    </Section>
  );
}
