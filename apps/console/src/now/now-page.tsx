import './now.css';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Now } from '../api/model.ts';
import { BREAKER_REASONS, runOfBreaker } from '../breakers/reasons.ts';
import { ResetDialog } from '../breakers/reset-dialog.tsx';
import { ActivityCharts } from '../charts/activity-charts.tsx';
import { count, counted, duration, money, percent, shortId } from '../figures/figures.ts';
import { useNowRead } from '../shell/nav.tsx';
import { Page } from '../shell/page.tsx';
import { openStop, type StopTarget } from '../shell/stop.tsx';
import { Act } from '../ui/act.tsx';
import { Read } from '../ui/faces.tsx';
import { actionMark, State, VERDICTS } from '../ui/marks.tsx';
import { Ago, useNow } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { Spark } from '../ui/strips.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { BudgetLine, WaitingCall } from './now-rows.tsx';
import { situation } from './situation.ts';

const DEFAULT_CHART_RANGE = '6h';

/** What needs attention, what happened, and what agents do at the moment. */
export function NowPage() {
  const read = useNowRead();
  const { range, change } = useRange();
  return (
    <Page
      name="now"
      title="Now"
      range={{ value: range, set: (next) => change({ range: next, from: undefined, to: undefined }) }}
    >
      <Read read={read} what="The overview" rows={12}>
        {(now) => <Content now={now} />}
      </Read>
    </Page>
  );
}

/** The range of the charts; the lists below them are of this moment. */
function useRange() {
  const { search, change } = useListSearch<'range' | 'from' | 'to'>();
  return { range: search.from === undefined ? { range: search.range ?? DEFAULT_CHART_RANGE } : search, change };
}

function Content({ now }: { now: Now }) {
  const { range, change } = useRange();
  const at = useNow();
  const [isOpen, setOpen] = useState(false);
  const { facts, others, quiet, running } = situation(now, at);
  const shown = isOpen ? [...facts, ...others] : facts;
  const more = isOpen ? 0 : others.length;
  const isNew = now.lastEventAt === null;
  return (
    <div className="pad">
      <div className="head">
        <div className="say" role="status">
          <p>
            {shown.map((fact, index) => (
              <span key={fact.kind}>
                {index > 0 && (index === shown.length - 1 && more === 0 ? ', and ' : ', ')}
                <Link to={fact.to} search={fact.search ?? {}} className={fact.tone === 'bad' ? 'ub' : 'uw'}>
                  {visibleName(fact.subject)}
                </Link>{' '}
                {keepUnits(fact.rest)}
              </span>
            ))}
            {more > 0 && (
              <>
                , and{' '}
                <button type="button" className="more" aria-expanded={false} onClick={() => setOpen(true)}>
                  {more} more
                </button>
              </>
            )}
            {quiet ? (isNew ? 'No agent has reported yet.' : 'All quiet.') : '.'}
          </p>
          <p>
            {isNew ? (
              <Link className="link" to="/connect">
                Connect an agent, or try the demo
              </Link>
            ) : (
              running
            )}
          </p>
        </div>
      </div>
      {!isNew && <ActivityCharts range={range} onBrush={(from, to) => change({ range: undefined, from, to })} />}
      <div className="cols">
        <div>
          <Waits now={now} />
          <Held now={now} />
          <Firing now={now} />
        </div>
        <div>
          <Spend now={now} />
          <Running now={now} />
          <Pipeline now={now} />
        </div>
      </div>
    </div>
  );
}

/** A number stays on the line of its unit. */
function keepUnits(text: string): string {
  return text.replaceAll(/(\d) %/g, '$1\u00a0%');
}

function Waits({ now }: { now: Now }) {
  if (now.approvals.length === 0) return null;
  return (
    <Section title="Needs approval" note={now.approvals.length} link={<Link to="/approvals">Open approvals</Link>}>
      <ul>
        {now.approvals.slice(0, 6).map((alert) => (
          <WaitingCall key={alert.id} alert={alert} />
        ))}
      </ul>
    </Section>
  );
}

/** Agents and runs that an order, a rule or a breaker stopped, each with what undoes it. */
function Held({ now }: { now: Now }) {
  const [resetting, setResetting] = useState<Now['openBreakers'][number]>();
  // Agents that a person paused are among the orders.
  const paused = now.pausedAgents.filter(({ control }) => control.source === 'rule');
  const held = now.orders.length + paused.length + now.openBreakers.length;
  if (held === 0) return null;
  return (
    <Section title="Paused, killed or tripped" note={held} link={<Link to="/agents">All agents</Link>}>
      <table className="tb flush l">
        <tbody>
          {paused.map((agent) => (
            <tr key={agent.id}>
              <td className="c0">
                <State mark={{ icon: 's-paused', tone: 'paused', word: 'Paused' }} />
              </td>
              <td className="clip w100">
                <Link className="strong" to="/agents/$id" params={{ id: agent.id }}>
                  {visibleName(agent.id)}
                </Link>{' '}
                <span className="t3">{visible(agent.pauseReason ?? 'by a rule')}</span>
              </td>
              <td className="r t3 not-s">{agent.pausedAt !== undefined && <Ago at={agent.pausedAt} bare />}</td>
              <td className="r">
                <Act scope="admin" kind="sm" onPress={() => openStop({ agentId: agent.id, state: 'running' })}>
                  Resume…
                </Act>
              </td>
            </tr>
          ))}
          {now.orders.map((order) => (
            <tr key={order.id}>
              <td className="c0">
                <State
                  mark={
                    order.state === 'killed'
                      ? { icon: 's-killed', tone: 'killed', word: 'Killed' }
                      : { icon: 's-paused', tone: 'paused', word: 'Paused' }
                  }
                />
              </td>
              <td className="clip w100">
                <HeldByOrder order={order} />{' '}
                <span className="t3">
                  by {visibleName(order.by.replace(/ \(\w+\)$/, ''))}: {visible(order.reason)}
                </span>
              </td>
              <td className="r t3 not-s">
                <Ago at={order.issuedAt} bare />
              </td>
              <td className="r">
                <Act scope="admin" kind="sm" onPress={() => openStop(targetOf(order))}>
                  Resume…
                </Act>
              </td>
            </tr>
          ))}
          {now.openBreakers.map((breaker) => (
            <tr key={`${breaker.scope}${breaker.scopeId}`}>
              <td className="c0">
                <State mark={{ icon: 'breakers', tone: 'block', word: 'Open' }} />
              </td>
              <td className="clip w100">
                {breaker.scope === 'agent' ? (
                  <Link className="strong" to="/agents/$id" params={{ id: breaker.agentId }}>
                    {visibleName(breaker.agentId)}
                  </Link>
                ) : (
                  <Link className="strong" to="/runs/$id" params={{ id: breaker.scopeId }}>
                    {visibleName(breaker.agentId)}, {runOfBreaker(breaker)}
                  </Link>
                )}{' '}
                <span className="t3">
                  breaker
                  {breaker.state.kind === 'closed'
                    ? ''
                    : `: ${BREAKER_REASONS[breaker.state.reason] ?? breaker.state.reason}`}
                </span>
              </td>
              <td className="r t3 not-s">
                <Ago at={breaker.changedAt} bare />
              </td>
              <td className="r">
                <Act scope="admin" kind="sm" onPress={() => setResetting(breaker)}>
                  Reset…
                </Act>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {resetting !== undefined && <ResetDialog breaker={resetting} onClose={() => setResetting(undefined)} />}
    </Section>
  );
}

type Order = Now['orders'][number];

/** Link to what an order holds; every agent has no page of its own. */
function HeldByOrder({ order: { scope, scopeId, agentId } }: { order: Order }) {
  if (scope === 'tenant') return <span className="strong">Every agent</span>;
  if (scope === 'agent')
    return (
      <Link className="strong" to="/agents/$id" params={{ id: scopeId }}>
        {visibleName(scopeId)}
      </Link>
    );
  return (
    <Link className="strong" to="/runs/$id" params={{ id: scopeId }}>
      {visibleName(agentId ?? '')} run {shortId(scopeId)}
    </Link>
  );
}

/** What the dialog resumes. */
function targetOf({ scope, scopeId, agentId }: Order): StopTarget {
  if (scope === 'run') return { runs: [{ id: scopeId, agentId: agentId ?? '' }], state: 'running' };
  return scope === 'agent' ? { agentId: scopeId, state: 'running' } : { state: 'running' };
}

const DOES: Readonly<Record<string, string>> = {
  block: 'Blocks',
  terminate_run: 'Ends runs',
  require_approval: 'Needs approval',
  pause_agent: 'Pauses',
  raise_alert: 'Alerts',
  downgrade_model: 'Downgrades',
  notify_webhook: 'Notifies',
};

function Firing({ now }: { now: Now }) {
  if (now.firing.length === 0) return null;
  return (
    <Section title="Firing" note="last hour, by rule" link={<Link to="/guardrails">All rules</Link>}>
      <table className="tb flush l">
        <tbody>
          {now.firing.map((rule) => (
            <tr key={rule.ruleId + String(rule.shadow)}>
              <td className="c0">
                <State
                  mark={
                    rule.shadow
                      ? { ...VERDICTS.shadow, word: 'Shadow' }
                      : { ...actionMark(rule.actionType), word: DOES[rule.actionType] ?? 'Fires' }
                  }
                />
              </td>
              <td className="clip w100">
                <Link className="strong" to="/guardrails/$id" params={{ id: rule.ruleId }}>
                  {rule.name}
                </Link>{' '}
                {rule.runs > 0 && <span className="t3">{counted(rule.runs, 'run')}</span>}
              </td>
              <td className="not-s">
                <Spark
                  values={rule.perFiveMinutes}
                  label={`${rule.name}: ${counted(rule.times, 'time')} in the last hour`}
                />
              </td>
              <td className="r">{count(rule.times)}</td>
              <td className="r t3 not-s">
                <Ago at={rule.lastAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

function Spend({ now }: { now: Now }) {
  return (
    <Section
      title="Spend today"
      note={<span className="num">{money(now.spentTodayUsd)}</span>}
      link={<Link to="/spend">{now.budgets.length === 0 ? 'Create a budget' : 'All budgets'}</Link>}
    >
      {now.budgets.slice(0, 4).map((standing) => (
        <BudgetLine key={standing.budget.id} standing={standing} />
      ))}
      {now.budgets.length === 0 && <p className="hint topped">No budgets.</p>}
    </Section>
  );
}

function Running({ now }: { now: Now }) {
  const at = useNow();
  const total = now.running.reduce((sum, { runs }) => sum + runs, 0);
  const idle = now.running.reduce((sum, one) => sum + one.idle, 0);
  return (
    <Section
      title="Running"
      note={count(total)}
      link={
        <Link to="/runs" search={{ status: 'running' }}>
          All running
        </Link>
      }
    >
      {total === 0 ? (
        <p className="hint topped">No run in progress.</p>
      ) : (
        <>
          <table className="tb flush rn">
            <thead>
              <tr>
                <th>Agent</th>
                <th className="r">Runs</th>
                <th className="r">Oldest</th>
                <th className="r">So far</th>
              </tr>
            </thead>
            <tbody>
              {now.running.slice(0, 8).map((agent) => (
                <tr key={agent.agentId}>
                  <td className="w100 clip">
                    <Link to="/runs" search={{ status: 'running', agent: agent.agentId }}>
                      {visibleName(agent.agentId)}
                    </Link>
                  </td>
                  <td className="r">{count(agent.runs)}</td>
                  <td className="r t2">{duration(at - Date.parse(agent.oldestStartedAt))}</td>
                  <td className="r">{money(agent.costUsd)}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {idle > 0 && <p className="hint topped">{idle} idle: no event for five minutes.</p>}
        </>
      )}
    </Section>
  );
}

function Pipeline({ now }: { now: Now }) {
  const asked = now.pulse.asked.reduce((sum, value) => sum + value, 0);
  const { deliveries, pulse } = now;
  return (
    <Section title="Pipeline" link={<Link to="/system">System</Link>}>
      <div className="pipe num">
        <Link to="/live">
          Last event <b>{now.lastEventAt === null ? 'none yet' : <Ago at={now.lastEventAt} bare />}</b>
        </Link>
        <Link to="/decisions">
          Decisions p99 <b>{pulse.latencyP99Ms === null ? '—' : duration(pulse.latencyP99Ms)}</b>
        </Link>
        <Link
          to="/deliveries"
          search={deliveries.failed > 0 ? { result: 'failed' } : {}}
          className={deliveries.failed > 0 ? 'bad' : ''}
        >
          Deliveries failed{' '}
          <b>{deliveries.settled === 0 ? '0' : `${count(deliveries.failed)} of ${count(deliveries.settled)}`}</b>
        </Link>
        <Link
          to="/decisions"
          search={pulse.bypassed > 0 ? { show: 'bypassed' } : {}}
          className={pulse.bypassed > 0 ? 'warn2' : ''}
        >
          Decisions bypassed <b>{pulse.bypassed === 0 ? '0' : `${percent(pulse.bypassed / Math.max(1, asked))}`}</b>
        </Link>
      </div>
    </Section>
  );
}
