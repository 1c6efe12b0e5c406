import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client, signInAddress } from '../api/client.ts';
import type { Alert, ApprovalVotes } from '../api/model.ts';
import { useRead } from '../live-data/live-store.ts';
import { approversText, conditionsText } from '../policies/policy-text.ts';
import { useOnCall, useTeams } from '../people/use-people.ts';
import { Failed } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { Note, Section } from '../ui/section.tsx';

export function useVotes(alert: Alert) {
  return useRead(['alerts', 'votes', alert.id, String(alert.version)], (signal) =>
    client.getAlertVotes({ params: { id: alert.id }, signal }),
  );
}

/** Whether the signed-in person may vote, and why not. */
export function refusalText({ mayVote, because, explanation }: ApprovalVotes): string | undefined {
  // A call that is not whole can still be denied; the card says so itself.
  return mayVote || because === 'call_not_whole' ? undefined : `${explanation ?? because ?? 'You may not vote'}.`;
}

/** How far the decision is: the policy, the votes so far, and who may still vote. */
export function Votes({ read, isOpen }: { read: ReturnType<typeof useVotes>; isOpen: boolean }) {
  const { data, error } = read;
  const teams = useTeams().data?.teams ?? [];
  const schedules = useOnCall().data?.schedules ?? [];
  if (error !== null) return <Failed what="Votes" error={error} onRetry={() => void read.refetch()} />;
  if (data === undefined) return null;
  const { policy, quorum, needs, votes, awaited, eligible, unreachable } = data;
  // Without a policy one person decides, and the decision says who it was.
  if (policy === null && votes.length === 0) return null;
  const refusal = isOpen ? refusalText(data) : undefined;
  return (
    <Section
      title="Votes"
      note={quorum > 1 || policy !== null ? `${quorum - needs} of ${quorum} approvals` : undefined}
    >
      {policy !== null && (
        <p className="t2">
          <b>{visibleName(policy.name)}</b>: {quorum} of{' '}
          {approversText(policy, {
            teams,
            schedules,
            people: awaited.map(({ person, name }) => ({ id: person, name })),
          })}
          , {conditionsText(policy)}.{policy.mode === 'report' && ' Report only: it refuses nothing.'}
        </p>
      )}
      <ul className="votes">
        {votes.map((vote) => (
          <li key={vote.voter}>
            <span className={vote.verdict === 'deny' ? 'bad' : 'good'}>
              <Icon name={vote.verdict === 'deny' ? 'v-block' : 'v-allow'} size={14} />
            </span>
            <span className="clip">
              {visibleName(vote.name)}{' '}
              {vote.standsInFor !== undefined && (
                <span className="t2">for {vote.standsInFor.map(({ name }) => visibleName(name)).join(' and ')} </span>
              )}
              <span className="t3">
                {vote.verdict === 'deny' ? 'denied' : 'approved'}
                {!vote.counts && ', no longer counts'}
              </span>
            </span>
            <span className="t3 num">
              <Moment at={vote.at} short />
            </span>
          </li>
        ))}
        {isOpen &&
          awaited.map(({ person, name, onCall }) => (
            <li key={person}>
              <span className="t3">
                <Icon name="s-waiting" size={14} />
              </span>
              <span className="clip">
                {onCall !== undefined && `${onCall.map(visibleName).join(', ')}, on call: `}
                {visibleName(name)}
              </span>
              <span className="t3">may vote</span>
            </li>
          ))}
      </ul>
      {unreachable && (
        <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
          {eligible === 0 ? 'No person' : `Only ${eligible} ${eligible === 1 ? 'person' : 'people'}`} may decide today,
          and {quorum} must approve. It will expire as a denial.
        </Note>
      )}
      {refusal !== undefined && (
        <Note icon={<Icon name="v-no" size={14} />}>
          {refusal} {data.because === 'sign_in_again' && <SignInAgain />}
        </Note>
      )}
    </Section>
  );
}

/** Links that ask for credentials again and return to this page. */
export function SignInAgain() {
  const options = useRead(['sign-in'], (signal) => client.getSignInOptions({ signal }));
  return (
    <span className="btns">
      {(options.data?.providers ?? []).map(({ id, name }) => (
        <a key={id} className="link" href={signInAddress(id, { fresh: true })}>
          Sign in again with {visibleName(name)}
        </a>
      ))}
    </span>
  );
}
