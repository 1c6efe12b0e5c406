import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Breaker, BreakerLimits } from '../api/model.ts';
import { count, money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { Act } from '../ui/act.tsx';
import { Read } from '../ui/faces.tsx';
import { State } from '../ui/marks.tsx';
import { Ago } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { LimitsDialog } from './limits-dialog.tsx';
import { BREAKER_REASONS, runOfBreaker } from './reasons.ts';
import { ResetDialog } from './reset-dialog.tsx';
import { useLimits } from './use-limits.ts';

const MARKS = {
  open: { icon: 'breakers', tone: 'block', word: 'Open' },
  half_open: { icon: 's-waiting', tone: 'waiting', word: 'Testing one call' },
  closed: { icon: 's-succeeded', tone: 'succeeded', word: 'Closed' },
};

export function BreakersPage() {
  const breakers = useRead(['breakers', 'all'], (signal) => client.listBreakers({ query: { limit: 100 }, signal }));
  const limits = useLimits();
  return (
    <Page name="breakers" title="Breakers" time="Now">
      <Read read={breakers} what="Breakers" rows={8}>
        {(data) => (
          <div className="pad">
            <Situation breakers={data.breakers} />
            <List breakers={data.breakers} />
            {limits.data !== undefined && <Limits limits={limits.data} />}
          </div>
        )}
      </Read>
    </Page>
  );
}

function Situation({ breakers }: { breakers: readonly Breaker[] }) {
  const open = breakers.filter(({ state }) => state.kind !== 'closed').length;
  return (
    <>
      <p className="lead1">
        {open === 0
          ? 'Every breaker is closed.'
          : open === 1
            ? 'One breaker is open: its calls are blocked.'
            : `${open} breakers are open: their calls are blocked.`}
      </p>
      <p>A breaker opens when a run or a run tree exceeds its limits. Breakers that never opened are not listed.</p>
    </>
  );
}

function List({ breakers }: { breakers: readonly Breaker[] }) {
  const [asking, setAsking] = useState<Breaker>();
  if (breakers.length === 0) return null;
  return (
    <Section title="Breakers that ever opened" note={breakers.length}>
      <table className="tb flush">
        <thead>
          <tr>
            <th>State</th>
            <th>Of</th>
            <th>Because</th>
            <th className="r">Changed</th>
            <th />
          </tr>
        </thead>
        <tbody>
          {breakers.map((breaker) => (
            <tr key={breaker.scope + breaker.scopeId}>
              <td>
                <State mark={MARKS[breaker.state.kind]} />
              </td>
              <td className="w100 clip">
                <Link to="/agents/$id" params={{ id: breaker.agentId }} className="strong">
                  {visibleName(breaker.agentId)}
                </Link>{' '}
                {breaker.scope !== 'agent' && (
                  <Link className="mono t2" to="/runs/$id" params={{ id: breaker.scopeId }}>
                    {runOfBreaker(breaker)}
                  </Link>
                )}
              </td>
              <td className="t2">
                {breaker.state.kind === 'closed' ? '' : (BREAKER_REASONS[breaker.state.reason] ?? breaker.state.reason)}
              </td>
              <td className="r t3">
                <Ago at={breaker.changedAt} />
              </td>
              <td className="act">
                {breaker.state.kind !== 'closed' && (
                  <Act scope="admin" kind="sm" onPress={() => setAsking(breaker)}>
                    Reset…
                  </Act>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {asking !== undefined && <ResetDialog breaker={asking} onClose={() => setAsking(undefined)} />}
    </Section>
  );
}

function Limits({ limits }: { limits: BreakerLimits }) {
  const [editing, setEditing] = useState(false);
  const rows = [{ scope: 'defaults', scopeId: '', limits: limits.defaults }, ...limits.limits];
  return (
    <Section
      title="Limits"
      note={<span className="not-s">of a run, the most specific apply: run, agent, tenant, defaults</span>}
      link={
        <span className="ml">
          <Act scope="admin" kind="sm" onPress={() => setEditing(true)}>
            Set limits…
          </Act>
        </span>
      }
    >
      <table className="tb flush">
        <thead>
          <tr>
            <th>For</th>
            <th className="r">Tokens</th>
            <th className="r">Model calls</th>
            <th className="r">Cost</th>
            <th className="r">Failures in a row</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.scope + row.scopeId}>
              <td className="w100">
                {row.scope === 'tree' ? (
                  'each run tree'
                ) : (
                  <>
                    {row.scope} <span className="t3">{visibleName(row.scopeId)}</span>
                  </>
                )}
              </td>
              <td className="r num">{count(row.limits.maxTokens)}</td>
              <td className="r num">{count(row.limits.maxIterations)}</td>
              <td className="r num">{money(row.limits.maxCostUsd)}</td>
              <td className="r num">{row.limits.maxConsecutiveFailures}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {editing && <LimitsDialog defaults={limits.defaults} onClose={() => setEditing(false)} />}
    </Section>
  );
}
