import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Rule } from '../api/model.ts';
import { count, counted, money, percentOf, shortId } from '../figures/figures.ts';
import { weekday } from '../time/zone.ts';
import { Act } from '../ui/act.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { toastError } from '../ui/toast.tsx';
import { DayStrip } from './day-strip.tsx';
import { bodyOf, type Draft } from './draft.ts';

const POLL_MS = 1_000;
const UNFINISHED = ['queued', 'running'];

/** Evaluates the draft over the last seven days. */
export function BacktestPanel({ draft, rule, valid }: { draft: Draft; rule: Rule | undefined; valid: boolean }) {
  const [id, setId] = useState<string>();
  const [tested, setTested] = useState('');
  const body = bodyOf({ ...draft, name: draft.name.trim() === '' ? 'Draft' : draft.name }, 'shadow');
  const job = useQuery({
    queryKey: ['backtest', id],
    queryFn: ({ signal }) => client.getBacktest({ params: { id: id ?? '' }, signal }),
    enabled: id !== undefined,
    refetchInterval: ({ state }) => (UNFINISHED.includes(state.data?.status ?? 'queued') ? POLL_MS : false),
  }).data;
  const start = async () => {
    try {
      const made = await client.createBacktest({ body: { rule: { ...body }, ...(rule && { ruleId: rule.id }) } });
      setId(made.id);
      setTested(JSON.stringify(body));
    } catch (error) {
      toastError('Not started', error);
    }
  };
  const isRunning = job !== undefined && UNFINISHED.includes(job.status);
  const { result } = job ?? {};
  return (
    <div className="bt">
      <div className="btns">
        <Act scope="admin" kind="pri" disabled={!valid || isRunning} onPress={() => void start()}>
          Test on last 7 days
        </Act>
        {isRunning && id !== undefined && (
          <Act scope="admin" onPress={() => void client.cancelBacktest({ params: { id } }).catch(() => undefined)}>
            Cancel
          </Act>
        )}
      </div>
      {isRunning && (
        <p className="t2" role="status">
          {job.status === 'queued' ? 'Waiting' : `${count(job.progress.events + job.progress.decisions)} entries read`}
        </p>
      )}
      {job?.error !== undefined && <p className="hint bad">{job.error}</p>}
      {result !== undefined && (
        <>
          {tested !== JSON.stringify(body) && <p className="hint">The draft has changed since.</p>}
          <p className="say2">
            {result.triggers > 0
              ? `Would have fired ${counted(result.triggers, 'time')}.`
              : `Would have stopped ${count(result.blocked + result.wouldAsk)} of ${counted(result.asked, 'call')}.`}
          </p>
          {result.blocked + result.wouldAsk > 0 && (
            <p>
              <b>
                {counted(result.falseRejections.count, 'false rejection')} of {result.falseRejections.judged} judged
                stops
              </b>
              {result.falseRejections.rate !== null && `, ${percentOf(result.falseRejections.rate)} of the calls`}
            </p>
          )}
          <DayStrip
            days={result.days.map((day) => ({
              day: day.name,
              label: weekday(Date.parse(day.name)),
              full: day.falseRejections,
              ghost: day.blocked + day.wouldAsk + day.triggers - day.falseRejections,
            }))}
            words={['false rejections', 'other stops']}
          />
          <p className="t2">
            {counted(result.affectedRuns, 'run')}, {counted(result.misses.count, 'failed or flagged run')} not touched
            {result.saved.afterStopUsd > 0 && `, up to ${money(result.saved.afterStopUsd)} saved`}
          </p>
          {result.happened !== undefined && (
            <p className="t2">
              In this time the rule itself stopped {counted(result.happened.stopped, 'call')} and triggered{' '}
              {counted(result.happened.triggers, 'time')}
            </p>
          )}
          {result.compared !== null && (
            <p className="t2">
              Compared with v{result.compared.version}: {count(result.compared.onlyDraft)} more,{' '}
              {count(result.compared.onlyInForce)} fewer, {count(result.compared.same)} the same
            </p>
          )}
          <p className="t3">
            {result.coverage.percent} % of the calls could be judged. {result.why.join('. ')}
          </p>
          {id !== undefined && <Examples id={id} />}
        </>
      )}
    </div>
  );
}

/** False rejections first. */
function Examples({ id }: { id: string }) {
  const examples = useQuery({
    queryKey: ['backtest', id, 'findings'],
    queryFn: async ({ signal }) => {
      const list = (query: object) =>
        client.listBacktestFindings({ params: { id }, query: { limit: 8, ...query }, signal });
      const [harmless, others] = await Promise.all([list({ outcome: 'harmless' }), list({})]);
      const first = harmless.findings;
      return [...first, ...others.findings.filter(({ outcome }) => outcome !== 'harmless')].slice(0, 10);
    },
  }).data;
  if (examples === undefined || examples.length === 0) return null;
  return (
    <Section title="Examples">
      <table className="tb flush ex">
        <tbody>
          {examples.map((one) => (
            <tr key={`${one.kind} ${one.at} ${one.runId} ${one.callId}`}>
              <td className={one.outcome === 'harmless' ? 'warn' : 't2'}>
                {one.outcome === 'harmless' && one.kind !== 'trigger' ? 'false rejection' : one.kind}
              </td>
              <td className="mono clip">
                {one.toolName === undefined ? visible(one.message) : visibleName(one.toolName)}
              </td>
              <td className="t2">
                {one.runId !== undefined && (
                  <Link
                    to="/runs/$id"
                    params={{ id: one.runId }}
                    search={one.callId === undefined ? {} : { step: one.callId }}
                  >
                    run {shortId(one.runId)}
                  </Link>
                )}
              </td>
              <td className="r t3">
                <Moment at={one.at} short />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}
