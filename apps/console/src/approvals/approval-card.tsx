import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Alert } from '../api/model.ts';
import { useRulesById } from '../rules/use-rules.ts';
import { useKeys } from '../shell/keys.ts';
import { Act } from '../ui/act.tsx';
import { State } from '../ui/marks.tsx';
import { Countdown } from '../ui/moment.tsx';
import { WhoWasNotified } from '../channels/who-was-notified.tsx';
import { EarlierApprovals, WhoAsks } from './about-approval.tsx';
import { ConfirmDecision, type Verb } from './confirm-decision.tsx';
import { Consequences } from './consequences.tsx';
import { DECIDED } from './decided.ts';
import { ExactCall } from './exact-call.tsx';
import { StepsBefore } from './steps-before.tsx';
import { type CallToDecide, useCall } from './use-call.ts';
import { refusalText, useVotes, Votes } from './votes.tsx';

interface Position {
  readonly at: number;
  readonly of: number;
  readonly next: () => void;
}

interface ApprovalCardProps {
  readonly alert: Alert;
  readonly position: Position | undefined;
  readonly onDecided: () => void;
}

/** A call that needs approval: the exact call, the steps before it, and the effect of each answer. */
export function ApprovalCard({ alert, position, onDecided }: ApprovalCardProps) {
  const rules = useRulesById();
  const rule = rules.get(alert.ruleId ?? alert.approval?.ruleId ?? '');
  const also = alert.approval?.also ?? [];
  const call = useCall(alert);
  const votes = useVotes(alert);
  const refusal = votes.data === undefined ? undefined : refusalText(votes.data);
  const [asking, setAsking] = useState<Verb>();
  const open = alert.status === 'pending' || alert.status === 'acknowledged';
  useKeys({
    a: () => open && refusal === undefined && call.mayApprove && setAsking('approve'),
    d: () => open && refusal === undefined && setAsking('deny'),
  });
  const tool = visibleName(alert.approval?.toolName ?? 'a tool');
  const agent = visibleName(alert.agentId);
  return (
    <article className="cardw" aria-label={`${agent} asks to call ${tool}`}>
      <div className="card">
        {position !== undefined && <Steps position={position} />}
        <h2 className="ask1">
          <bdi>{agent}</bdi> wants to call <span className="mono">{tool}</span>.
        </h2>
        <p className="lead">
          Required by{' '}
          {rule === undefined ? (
            'a rule'
          ) : (
            <Link to="/guardrails/$id" params={{ id: rule.id }}>
              {rule.name}
            </Link>
          )}
          {also.map(({ ruleId }) => (
            <span key={ruleId}>
              {' and '}
              <Link to="/guardrails/$id" params={{ id: ruleId }}>
                {rules.get(ruleId)?.name ?? 'a deleted rule'}
              </Link>
            </span>
          ))}
          . “{visible(alert.title)}”
        </p>
        <div>
          <ExactCall alert={alert} call={call} />
          <StepsBefore alert={alert} />
        </div>
        <div className="side">
          <Consequences alert={alert} call={call} />
          <Votes read={votes} isOpen={open} />
          <WhoWasNotified alertId={alert.id} isOpen={alert.decidedAt === undefined} />
          <EarlierApprovals alert={alert} />
          <WhoAsks alert={alert} rule={rule} />
        </div>
      </div>
      <footer className="foot">
        <div className="cdn">
          {open && alert.expiresAt !== undefined ? (
            <>
              <Countdown until={alert.expiresAt} />
              <span className="t2">left until it is denied</span>
            </>
          ) : (
            <State mark={DECIDED[alert.status]} />
          )}
        </div>
        {open && <Answers call={call} refusal={refusal} onAsk={setAsking} />}
      </footer>
      {asking !== undefined && (
        <ConfirmDecision
          verb={asking}
          alert={alert}
          call={call}
          onClose={() => setAsking(undefined)}
          onDecided={onDecided}
        />
      )}
    </article>
  );
}

interface AnswersProps {
  readonly call: CallToDecide;
  /** Why the policy does not accept this person's vote. */
  readonly refusal: string | undefined;
  readonly onAsk: (verb: Verb) => void;
}

function Answers({ call, refusal, onAsk }: AnswersProps) {
  return (
    <>
      <Act scope="review" kind="danger" disabled={refusal !== undefined} title={refusal} onPress={() => onAsk('deny')}>
        Deny…<kbd className="not-s">d</kbd>
      </Act>
      {call.extent === 'cut' ? (
        <span className="t2">The whole call is not available, so it cannot be approved.</span>
      ) : (
        <Act
          scope="review"
          kind="pri"
          disabled={!call.mayApprove || refusal !== undefined}
          title={refusal ?? (call.mayApprove ? undefined : (call.lacks ?? 'Loading the call'))}
          onPress={() => onAsk('approve')}
        >
          Approve once…<kbd className="not-s">a</kbd>
        </Act>
      )}
    </>
  );
}

/** Position in the queue, for screens without room for the queue. */
function Steps({ position: { at, of, next } }: { position: Position }) {
  return (
    <button type="button" className="step" onClick={next}>
      {Array.from({ length: Math.min(8, of) }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a mark is its place
        <i key={index} className={index <= at ? 'on' : ''} />
      ))}
      <span>
        {at + 1} of {of}
        {of > 1 && ', tap for the next'}
      </span>
    </button>
  );
}
