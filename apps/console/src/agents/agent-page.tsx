import { useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Agent } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { ActivityCharts } from '../charts/activity-charts.tsx';
import { count, counted, duration, money, moneyCell, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { RuleSentence } from '../rules/rule-sentence.tsx';
import { modeOf, ruleMark, useRules } from '../rules/use-rules.ts';
import { aboutRun } from '../runs/run-task.ts';
import { Page } from '../shell/page.tsx';
import { openStop } from '../shell/stop.tsx';
import { Act } from '../ui/act.tsx';
import { Failed, Loading, Missing, Read } from '../ui/faces.tsx';
import { Gauge } from '../ui/gauge.tsx';
import { Icon } from '../ui/icon.tsx';
import { ModeChip, RunState, State, statusOf } from '../ui/marks.tsx';
import { Ago, Moment, useNow } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { agentMark } from './agents-page.tsx';

export function AgentPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const agent = useRead(['agents', 'one', id], (signal) => client.getAgent({ params: { id }, signal }));
  return (
    <Page
      name="agent"
      title={id}
      crumbs={[{ name: 'Agents', to: '/agents' }]}
      time="Last 7 days"
      stop={{ agentId: id }}
    >
      {agent.data !== undefined ? (
        <Shown agent={agent.data} />
      ) : agent.error === null ? (
        <Loading rows={10} />
      ) : problemOf(agent.error).status === 404 ? (
        <Missing title="Agent not found." list={{ name: 'All agents', to: '/agents' }}>
          No agent of your tenant is called <bdi>{id}</bdi>.
        </Missing>
      ) : (
        <Failed what="This agent" error={agent.error} onRetry={() => void agent.refetch()} />
      )}
    </Page>
  );
}

const WEEK = { range: '7d' };

function Shown({ agent }: { agent: Agent }) {
  const now = useNow();
  return (
    <div className="pad">
      <div className="row wrap">
        <State mark={agentMark(agent, now)} fill />
        <p className="lead1 grow">
          {agent.control.state !== 'paused'
            ? `${counted(agent.sessionCount, 'run')}, ${money(agent.totalCostUsd)} in total.`
            : `Paused: ${visible(agent.control.reason ?? agent.control.by ?? 'by a rule')}.`}
        </p>
        <ControlBar agent={agent} />
      </div>
      <ActivityCharts range={WEEK} agentId={agent.id} />
      <div className="two">
        <div>
          <Orders agent={agent} />
          <Runs agent={agent} />
          <RulesInForce agent={agent} />
        </div>
        <div>
          <Health agent={agent} />
          <Section title="Details">
            <Facts
              facts={[
                ['Name', agent.name],
                agent.description !== undefined && ['Description', agent.description],
                ['First seen', <Moment key="f" at={agent.firstSeenAt} />],
                ['Last seen', <Ago key="l" at={agent.lastSeenAt} />],
                [
                  'Events',
                  <span key="e" className="num">
                    {count(agent.eventCount)}
                  </span>,
                ],
                [
                  'Errors',
                  <span key="r" className="num">
                    {count(agent.errorCount)}
                  </span>,
                ],
                agent.modelOverride !== undefined && [
                  'Uses instead',
                  visible(`${agent.modelOverride}: ${agent.modelOverrideReason ?? ''}`),
                ],
                agent.tools.length > 0 && [
                  'Tools',
                  <span key="t" className="mono">
                    {agent.tools.map(({ name }) => name).join(', ')}
                  </span>,
                ],
                agent.tags.length > 0 && ['Tags', agent.tags.join(', ')],
              ]}
            />
          </Section>
        </div>
      </div>
    </div>
  );
}

function ControlBar({ agent }: { agent: Agent }) {
  const queries = useQueryClient();
  const unpause = async () => {
    try {
      await client.unpauseAgent({
        params: { id: agent.id },
        body: { clearModelOverride: agent.modelOverride !== undefined },
      });
      await queries.invalidateQueries();
      toast(`${visibleName(agent.id)} resumed`);
    } catch (error) {
      toastError('Not resumed', error);
    }
  };
  /** A pause that a person ordered ends with another order. */
  const isOrdered = agent.control.state === 'paused' && agent.control.source === 'order';
  return (
    <div className="btns">
      {(agent.control.state === 'paused' || agent.modelOverride !== undefined) && (
        <Act
          scope="admin"
          kind="pri"
          onPress={() => (isOrdered ? openStop({ agentId: agent.id, state: 'running' }) : void unpause())}
        >
          {agent.control.state !== 'paused' ? 'Restore its model' : 'Resume'}
        </Act>
      )}
      <Act scope="admin" onPress={() => openStop({ agentId: agent.id, state: 'paused' })}>
        <Icon name="pause" size={14} />
        Pause…
      </Act>
      <Act scope="admin" kind="danger" onPress={() => openStop({ agentId: agent.id, state: 'killed' })}>
        <Icon name="s-killed" size={14} />
        Kill…
      </Act>
    </div>
  );
}

/** The standing order, and how many processes acknowledged it. */
function Orders({ agent }: { agent: Agent }) {
  const orders = useRead(['orders', agent.id], (signal) =>
    client.listOrders({ query: { id: agent.id, scope: 'agent', limit: 5 }, signal }),
  );
  const standing = orders.data?.orders.filter(({ state }) => state !== 'running') ?? [];
  if (standing.length === 0) return null;
  return (
    <Section title="Standing order">
      {standing.map((order) => (
        <div key={order.id} className="row wrap topped">
          <State
            mark={
              order.state === 'killed'
                ? { icon: 's-killed', tone: 'killed', word: 'Killed' }
                : { icon: 's-paused', tone: 'paused', word: 'Paused' }
            }
          />
          <span className="grow">
            by {visibleName(order.by)}: {visible(order.reason)}
          </span>
          <span className="t3 num">
            <Ago at={order.issuedAt} />, {order.acknowledged} acknowledged
            {order.fastestMs !== null && `, the first after ${duration(order.fastestMs)}`}
          </span>
          <Act scope="admin" kind="sm" onPress={() => openStop({ agentId: agent.id, state: 'running' })}>
            Resume…
          </Act>
        </div>
      ))}
    </Section>
  );
}

function Runs({ agent }: { agent: Agent }) {
  const runs = useRead(['runs', 'agent', agent.id], (signal) =>
    client.listRuns({ query: { agentId: agent.id, limit: 10 }, signal }),
  );
  return (
    <Section
      title="Newest runs"
      link={
        <Link to="/runs" search={{ agent: agent.id, range: '7d' }}>
          All runs
        </Link>
      }
    >
      <Read read={runs} what="Its runs" rows={3}>
        {(data) => (
          <table className="tb flush">
            <tbody>
              {data.runs.map((run) => (
                <tr key={run.id}>
                  <td>
                    <RunState status={statusOf(run)} />
                  </td>
                  <td className="w100 clip">
                    <Link to="/runs/$id" params={{ id: run.id }}>
                      <span className="mono">{shortId(run.id)}</span> <bdi className="t3">{visible(aboutRun(run))}</bdi>
                    </Link>
                  </td>
                  <td className="r num t2">{duration(run.durationMs)}</td>
                  <td className="r num not-s">{moneyCell(run.totals.costUsd)}</td>
                  <td className="r t3">
                    <Ago at={run.startedAt} bare />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
    </Section>
  );
}

function RulesInForce({ agent }: { agent: Agent }) {
  const all = useRules();
  const rules = (all.data?.rules ?? []).filter(
    (rule) => (rule.agentId === undefined || rule.agentId === agent.id) && modeOf(rule) !== 'off',
  );
  return (
    <Section title="Rules in force" note={rules.length} link={<Link to="/guardrails/new">New rule</Link>}>
      <Read read={all} what="The rules" rows={3}>
        {() =>
          rules.length === 0 ? (
            <p className="hint topped">No rule applies to this agent. Its breaker still does.</p>
          ) : (
            <table className="tb flush">
              <tbody>
                {rules.map((rule) => (
                  <tr key={rule.id}>
                    <td>
                      <ModeChip mode={modeOf(rule)} />
                    </td>
                    <td className="w100 clip">
                      <Link to="/guardrails/$id" params={{ id: rule.id }}>
                        {rule.name}
                      </Link>
                      <RuleSentence rule={rule} />
                    </td>
                    <td>
                      <State mark={ruleMark(rule)} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Read>
    </Section>
  );
}

function Health({ agent }: { agent: Agent }) {
  const health = useRead(['agents', 'health', agent.id], (signal) =>
    client.getAgentHealth({ params: { id: agent.id }, query: { window: 7 }, signal }),
  );
  const note = health.data && `${Math.round(health.data.overallScore)} of 100, ${health.data.trend}`;
  return (
    <Section title="Health" note={note}>
      {health.error !== null && problemOf(health.error).status === 404 ? (
        <p className="hint topped">No runs in the last 7 days.</p>
      ) : (
        <Read read={health} what="Health" rows={3}>
          {({ dimensions }) => (
            <div className="health">
              {dimensions.map(({ name, score, description }) => (
                <div key={name} title={description}>
                  <span className="t2">{name.replaceAll(/[_-]/g, ' ')}</span>
                  <Gauge score value={Math.min(1, score / 100)} label={`${name}: ${Math.round(score)} of 100`} />
                  <span className="num r">{Math.round(score)} of 100</span>
                </div>
              ))}
            </div>
          )}
        </Read>
      )}
    </Section>
  );
}
