import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { client } from '../api/client.ts';
import type { Alert } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useRulesById } from '../rules/use-rules.ts';
import { useTimeline } from '../run/use-run.ts';
import { argsOf, storyOf } from '../run/story.ts';
import { useKeys } from '../shell/keys.ts';
import { Act } from '../ui/act.tsx';
import { asText } from '../ui/as-text.ts';
import { Copy } from '../ui/copy.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { State } from '../ui/marks.tsx';
import { Countdown, Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { toast } from '../ui/toast.tsx';
import { DECIDED } from './approvals-page.tsx';
import { callInMessage, isRedacted, type ToldCall } from './call-in-message.ts';

interface ApprovalCardProps {
  readonly alert: Alert;
  readonly position: { readonly at: number; readonly of: number; readonly next: () => void } | undefined;
  readonly onDecided: () => void;
}

type Verb = 'approve' | 'deny';

/** One call that waits: what exactly it is, what led to it, and what each answer does. */
export function ApprovalCard({ alert, position, onDecided }: ApprovalCardProps) {
  const rule = useRulesById().get(alert.ruleId ?? alert.approval?.ruleId ?? '');
  const told = useCall(alert);
  const [asking, setAsking] = useState<Verb>();
  const open = alert.status === 'pending' || alert.status === 'acknowledged';
  useKeys({ a: () => open && setAsking('approve'), d: () => open && setAsking('deny') });
  const tool = alert.approval?.toolName ?? 'a tool';
  return (
    <article className="cardw" aria-label={`${alert.agentId} asks to call ${tool}`}>
      <div className="card">
        {position !== undefined && (
          <button type="button" className="step" onClick={position.next}>
            {Array.from({ length: Math.min(8, position.of) }, (_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a mark is its place
              <i key={index} className={index <= position.at ? 'on' : ''} />
            ))}
            <span>
              {position.at + 1} of {position.of}
              {position.of > 1 && ', tap for the next'}
            </span>
          </button>
        )}
        <h2 className="ask1">
          <bdi>{alert.agentId}</bdi> wants to call <span className="mono">{tool}</span>.
        </h2>
        <p className="lead">
          It asks because of{' '}
          {rule === undefined ? (
            'a rule'
          ) : (
            <Link to="/guardrails/$id" params={{ id: rule.id }}>
              {rule.name}
            </Link>
          )}
          . “{alert.title}”
        </p>
        <div>
          <Section first title="The exact call" note={<span className="mono">{tool}</span>}>
            <Arguments told={told} />
            {alert.approval !== undefined && (
              <div className="why2 dig">
                <span className="mono t3" title={alert.approval.argsHash}>
                  sha256 {alert.approval.argsHash.slice(0, 12)} …
                </span>
                <Copy text={alert.approval.argsHash} />
                <span className="t3">Binds this call and no other.</span>
              </div>
            )}
          </Section>
          <LedHere alert={alert} />
        </div>
        <div className="side">
          <Consequences alert={alert} />
          <LikeThis alert={alert} />
          <Section title="Who asks">
            <Facts
              facts={[
                [
                  'Agent',
                  <Link key="a" to="/agents/$id" params={{ id: alert.agentId }}>
                    {alert.agentId}
                  </Link>,
                ],
                alert.runId !== undefined && [
                  'Run',
                  <Link key="r" to="/runs/$id" params={{ id: alert.runId }}>
                    {shortId(alert.runId)}
                  </Link>,
                ],
                [
                  'Rule',
                  rule === undefined
                    ? 'not known any more'
                    : `version ${alert.approval?.ruleVersion ?? rule.version}${alert.approval !== undefined && alert.approval.ruleVersion !== rule.version ? `, now ${rule.version}` : ''}`,
                ],
                ['Asked', <Moment key="m" at={alert.createdAt} />],
                ['Seen by', alert.acknowledgedBy ?? 'nobody yet'],
                alert.decidedBy !== undefined && ['Decided by', alert.decidedBy],
                alert.reason !== undefined && ['Reason', alert.reason],
              ]}
            />
          </Section>
        </div>
      </div>
      <footer className="foot">
        <div className="cdn">
          {open && alert.expiresAt !== undefined ? (
            <>
              <Countdown until={alert.expiresAt} />
              <span className="t2">left, then denied</span>
            </>
          ) : (
            <State mark={DECIDED[alert.status]} />
          )}
        </div>
        {open && (
          <>
            <Act scope="review" kind="danger" onPress={() => setAsking('deny')}>
              Deny…<kbd className="not-s">d</kbd>
            </Act>
            <Act scope="review" kind="pri" onPress={() => setAsking('approve')}>
              Approve once…<kbd className="not-s">a</kbd>
            </Act>
          </>
        )}
      </footer>
      {asking !== undefined && (
        <Confirm verb={asking} alert={alert} told={told} onClose={() => setAsking(undefined)} onDecided={onDecided} />
      )}
    </article>
  );
}

/** The call as the run's own events tell it, else as the alert does. */
function useCall(alert: Alert): ToldCall {
  const timeline = useTimeline(alert.runId ?? '');
  const told = callInMessage(alert.message);
  const call = storyOf(timeline.data?.entries ?? [], false).find(
    (step) => step.decision?.approvalId === alert.id,
  )?.call;
  const args = argsOf(call);
  return told.args === undefined && typeof args === 'object' && args !== null
    ? { args: args as Record<string, unknown>, text: undefined }
    : told;
}

function Arguments({ told: { args, text } }: { told: ToldCall }) {
  const [asJson, setAsJson] = useState(false);
  if (args === undefined) return <pre className="well plain">{text ?? 'It says no arguments.'}</pre>;
  return (
    <>
      {asJson ? (
        <JsonView label="Arguments" value={args} />
      ) : (
        <dl className="args">
          {Object.entries(args).map(([name, value]) => (
            <div key={name} className="kvr">
              <dt>
                <bdi>{name}</bdi>
              </dt>
              <dd className="plain">
                {isRedacted(value) ? (
                  <Redacted value={String(value)} />
                ) : typeof value === 'object' ? (
                  <JsonView label={name} value={value} />
                ) : (
                  asText(value)
                )}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <button type="button" className="b quiet sm" onClick={() => setAsJson(!asJson)}>
        {asJson ? 'As a list' : 'As JSON'}
      </button>
    </>
  );
}

function Redacted({ value }: { value: string }) {
  return (
    <>
      <span className="red">redacted</span>{' '}
      <span className="t3 small">{value.slice(1, -1).replaceAll('_', ' ')}, hidden before it was stored</span>
    </>
  );
}

const LED_HERE = 6;

function LedHere({ alert }: { alert: Alert }) {
  const timeline = useTimeline(alert.runId ?? '');
  const steps = storyOf(timeline.data?.entries ?? [], false).filter(
    ({ startMs, kind }) => startMs <= Date.parse(alert.createdAt) + 1000 && kind !== 'trigger',
  );
  return (
    <Section
      title="What led here"
      link={
        alert.runId !== undefined && (
          <Link to="/runs/$id" params={{ id: alert.runId }}>
            Open run {shortId(alert.runId)}
          </Link>
        )
      }
    >
      <ol className="st0">
        {steps.slice(-LED_HERE).map((step) => (
          <li key={step.id}>
            <span className="t3">
              <Moment at={new Date(step.startMs).toISOString()} />
            </span>
            <Icon
              name={
                step.state === 'waiting'
                  ? 'v-ask'
                  : step.kind === 'model'
                    ? 'model'
                    : step.kind === 'message'
                      ? 'msg'
                      : 'tool'
              }
              size={14}
              className={step.state === 'waiting' ? 'ic ask' : 't3'}
            />
            <span className="clip">
              <b>{step.kind === 'message' ? '' : step.name}</b>{' '}
              <bdi className="t2">{step.state === 'waiting' ? 'waits for you' : step.detail}</bdi>
            </span>
            {step.state === 'failed' ? <span className="tag bad">error</span> : <span />}
          </li>
        ))}
      </ol>
      {steps.length === 0 && <p className="hint topped">The run told nothing before it asked.</p>}
    </Section>
  );
}

function Consequences({ alert }: { alert: Alert }) {
  return (
    <Section first title="If you">
      <ul className="cons">
        <li className="allow">
          <Icon name="v-allow" size={14} className="ic" />
          <span>
            <b>Approve once</b>, the agent may make exactly this call, once
            {alert.expiresAt !== undefined && (
              <>
                , until <Moment at={alert.expiresAt} />
              </>
            )}
            .
          </span>
        </li>
        <li className="block">
          <Icon name="v-block" size={14} className="ic" />
          <span>
            <b>Deny</b>, the agent is told no and goes on. This run cannot ask for it again.
          </span>
        </li>
        <li className="waiting">
          <Icon name="s-timed" size={14} className="ic" />
          <span>
            <b>Do nothing</b>,{' '}
            {alert.expiresAt === undefined ? (
              'it goes on waiting'
            ) : (
              <>
                it is denied at <Moment at={alert.expiresAt} />
              </>
            )}
            .
          </span>
        </li>
      </ul>
    </Section>
  );
}

/** How earlier questions of this rule were answered. */
function LikeThis({ alert }: { alert: Alert }) {
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
    <Section title="Like this one">
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
            <span className="clip">{one.reason ?? one.decidedBy ?? 'nobody answered'}</span>
            <span className="r t3 num">
              <Moment at={one.decidedAt ?? one.createdAt} short />
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Confirm({
  verb,
  alert,
  told,
  onClose,
  onDecided,
}: {
  verb: Verb;
  alert: Alert;
  told: ToldCall;
  onClose: () => void;
  onDecided: () => void;
}) {
  const queries = useQueryClient();
  const [reason, setReason] = useState('');
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const tool = alert.approval?.toolName ?? 'the call';
  const decide = async () => {
    setBusy(true);
    try {
      const act = verb === 'approve' ? client.approveAlert : client.denyAlert;
      await act({ params: { id: alert.id }, body: reason.trim() === '' ? {} : { reason: reason.trim() } });
      toast(`${tool} ${verb === 'approve' ? 'approved once' : 'denied'}`);
      onDecided();
      onClose();
      await queries.invalidateQueries();
    } catch (cause) {
      const problem = problemOf(cause);
      setError(`${problem.message}. ${problem.hint ?? ''}`);
      setBusy(false);
    }
  };
  const noReason = verb === 'deny' && reason.trim() === '';
  return (
    <Dialog
      title={verb === 'approve' ? 'Approve this call once?' : 'Deny this call?'}
      open
      onClose={onClose}
      acts={
        <>
          {alert.expiresAt !== undefined && (
            <span className="t3 ml-auto num">
              <Countdown until={alert.expiresAt} /> left
            </span>
          )}
          <button type="button" className="b" onClick={onClose}>
            Back
          </button>
          <button
            type="button"
            className={`b ${verb === 'approve' ? 'pri' : 'danger solid'}`}
            aria-disabled={busy || noReason || undefined}
            onClick={() => busy || noReason || void decide()}
          >
            {verb === 'approve' ? 'Approve once' : `Deny ${tool}`}
          </button>
        </>
      }
    >
      <div className="kd">
        <pre className="well plain">
          {tool}
          {'\n'}
          {told.args === undefined
            ? (told.text ?? '')
            : Object.entries(told.args)
                .map(([name, value]) => `  ${name}  ${typeof value === 'string' ? value : JSON.stringify(value)}`)
                .join('\n')}
        </pre>
        <label className="field">
          <span className="lab">
            {verb === 'approve' ? 'Note, kept with the decision' : 'Reason; the agent reads this'}
          </span>
          <input className="in" value={reason} maxLength={1000} onChange={(event) => setReason(event.target.value)} />
        </label>
        {error !== undefined && (
          <p className="hint bad" role="alert">
            {error}
          </p>
        )}
      </div>
    </Dialog>
  );
}
