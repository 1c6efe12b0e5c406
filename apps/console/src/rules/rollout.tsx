import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { HOUR_MS } from '../../../../libs/contracts/src/times.ts';
import { client } from '../api/client.ts';
import type { Rule } from '../api/model.ts';
import { type Problem, problemOf } from '../api/problem.ts';
import { count, percentOf } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { weekday } from '../time/zone.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field, ReasonField, useRejection } from '../ui/field.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { DayStrip } from './day-strip.tsx';
import { modeOf } from './use-rules.ts';

/** What a decision rule stopped or would have stopped since its meaning last changed, and its rollbacks. */
export function RolloutSection({ rule }: { rule: Rule }) {
  const rollout = useRead(['rollout', rule.id], (signal) =>
    client.getRuleRollout({ params: { id: rule.id }, signal }),
  ).data;
  if (rollout === undefined || (rollout.asked === 0 && rollout.rollbacks.length === 0)) return null;
  const days = rollout.byDay.toReversed().slice(-14);
  return (
    <Section title="Rollout" note={`${count(rollout.asked)} calls asked`}>
      {days.length > 0 && (
        <DayStrip
          days={days.map(({ day, stopped, wouldStop }) => ({
            day,
            label: weekday(Date.parse(day)),
            full: stopped,
            ghost: wouldStop,
          }))}
          words={['stopped', 'would stop']}
        />
      )}
      <Facts
        facts={[
          ['Since', <Moment key="since" at={rollout.since} />],
          [
            'Stops',
            `${count(rollout.stopped)}, would stop ${count(rollout.wouldStop)} (${percentOf(rollout.stopRate)})`,
          ],
          [
            'False rejections',
            rollout.falseRejectionRate === null
              ? 'no stop judged yet'
              : `${percentOf(rollout.falseRejectionRate)}, ${rollout.harmless} of ${rollout.judged} judged stops`,
          ],
          ['Bypassed', percentOf(rollout.bypassRate)],
          ['Guard', rollout.guard.ok ? 'met' : rollout.guard.unmet.map(unmetText).join('; ')],
        ]}
      />
      {rollout.rollbacks.map(({ version, at, reason }) => (
        <p key={version} className="hint bad topped">
          <Moment at={at} /> v{version}: {reason}
        </p>
      ))}
    </Section>
  );
}

const unmetText = ({ path, message }: { path: string; message: string }) => `${path.replace('guard.', '')} ${message}`;

type Target = 'canary' | 'enforce';

/** Promotes a rule; if its guard is not met, lists why and offers to force it with a reason. */
export function PromoteDialog({ rule, to, onClose }: { rule: Rule; to: Target; onClose: () => void }) {
  const queries = useQueryClient();
  const [percent, setPercent] = useState(
    String(rule.rollout === undefined ? 10 : Math.min(100, rule.rollout.percent * 2)),
  );
  const [reason, setReason] = useState('');
  const [unmet, setUnmet] = useState<Problem['details']>([]);
  const [busy, setBusy] = useState(false);
  const rejection = useRejection();
  const promote = async (force: boolean) => {
    setBusy(true);
    rejection.clear();
    try {
      await client.promoteRule({
        params: { id: rule.id },
        body: {
          ...{ to, force },
          ...(to === 'canary' ? { percent: Number(percent) } : {}),
          ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
        },
      });
      await queries.invalidateQueries();
      toast(to === 'canary' ? `Canary at ${percent} %` : 'Enforced');
      onClose();
    } catch (error) {
      const problem = problemOf(error);
      if (problem.status === 409 && problem.details.length > 0) setUnmet(problem.details);
      else rejection.set(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={to === 'canary' ? `Canary for “${rule.name}”` : `Enforce “${rule.name}”?`}
      open
      onClose={onClose}
      acts={
        <>
          <button type="button" className="b" onClick={onClose}>
            Cancel
          </button>
          {unmet.length > 0 && (
            <Act scope="admin" kind="danger" disabled={busy || reason.trim() === ''} onPress={() => void promote(true)}>
              {to === 'canary' ? 'Start it anyway' : 'Enforce it anyway'}
            </Act>
          )}
          <Act scope="admin" kind="pri" disabled={busy} onPress={() => void promote(false)}>
            {to === 'canary' ? 'Start the canary' : 'Enforce it'}
          </Act>
        </>
      }
    >
      <div className="kd">
        {to === 'canary' && (
          <Field label="Share of runs, %" wrong={rejection.at('percent')}>
            {(input) => (
              <input
                {...input}
                type="number"
                min="0.01"
                max="100"
                step="0.01"
                value={percent}
                onChange={(event) => setPercent(event.target.value)}
              />
            )}
          </Field>
        )}
        <ReasonField value={reason} wrong={rejection.at('reason')} onChange={setReason} />
        <FailureLine>{rejection.besides('percent', 'reason')}</FailureLine>
        {unmet.length > 0 && (
          <ul className="field" role="alert">
            {unmet.map((one) => (
              <li key={one.path} className="hint bad">
                {unmetText(one)}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Dialog>
  );
}

/** Suspends a rule for some hours, or ends its suspension. */
export function SuspendButton({ rule }: { rule: Rule }) {
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  const [hours, setHours] = useState('4');
  const [reason, setReason] = useState('');
  const rejection = useRejection();
  const isSuspended = modeOf(rule) === 'suspended';
  const suspend = async (until: string | null, why: string) => {
    rejection.clear();
    try {
      await client.suspendRule({ params: { id: rule.id }, body: { until, reason: why } });
      await queries.invalidateQueries();
      toast(until === null ? 'Suspension ended' : 'Suspended');
      setAsking(false);
    } catch (error) {
      if (asking) rejection.set(error);
      else toastError('Not changed', error);
    }
  };
  if (isSuspended) {
    return (
      <Act scope="admin" onPress={() => void suspend(null, 'Ended in the console')}>
        End suspension
      </Act>
    );
  }
  return (
    <>
      <Act scope="admin" kind="quiet" onPress={() => setAsking(true)}>
        Suspend…
      </Act>
      {asking && (
        <Dialog
          title={`Suspend “${rule.name}”?`}
          open
          onClose={() => setAsking(false)}
          acts={
            <>
              <button type="button" className="b" onClick={() => setAsking(false)}>
                Cancel
              </button>
              <Act
                scope="admin"
                kind="danger"
                disabled={reason.trim() === '' || !(Number(hours) > 0)}
                onPress={() =>
                  void suspend(new Date(Date.now() + Number(hours) * HOUR_MS).toISOString(), reason.trim())
                }
              >
                Suspend
              </Act>
            </>
          }
        >
          <div className="kd">
            <Field label="Hours" wrong={rejection.at('until')}>
              {(input) => (
                <input
                  {...input}
                  type="number"
                  min="0.1"
                  max="720"
                  step="0.1"
                  value={hours}
                  onChange={(event) => setHours(event.target.value)}
                />
              )}
            </Field>
            <ReasonField value={reason} wrong={rejection.at('reason')} onChange={setReason} />
            <FailureLine>{rejection.besides('until', 'reason')}</FailureLine>
          </div>
        </Dialog>
      )}
    </>
  );
}
