import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Agent, AgentHealth } from '../api/model.ts';
import { count, money } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { openStop } from '../shell/stop.tsx';
import { Act } from '../ui/act.tsx';
import { Empty, FilteredEmpty, Read } from '../ui/faces.tsx';
import { FilterField } from '../ui/filters.tsx';
import { Gauge } from '../ui/gauge.tsx';
import { Icon } from '../ui/icon.tsx';
import { State } from '../ui/marks.tsx';
import { Ago, useNow } from '../ui/moment.tsx';
import { useListSearch } from '../ui/use-list-search.ts';

const QUIET_MS = 5 * 60_000;

export function AgentsPage() {
  const agents = useRead(['agents', 'all'], (signal) => client.listAgents({ query: { limit: 500 }, signal }));
  const health = useRead(['agents', 'health'], (signal) => client.getHealthOverview({ query: { window: 7 }, signal }));
  return (
    <Page name="agents" title="Agents" time="Last 7 days">
      <Read read={agents} what="Agents" rows={10}>
        {(data) => (
          <List agents={data.agents} health={new Map((health.data?.agents ?? []).map((one) => [one.agentId, one]))} />
        )}
      </Read>
    </Page>
  );
}

/** What stops an agent, or whether it was active recently. */
export function agentMark(agent: Agent, nowMs: number) {
  const { state } = agent.control;
  if (state === 'killed') return { icon: 's-killed', tone: 'killed', word: 'Killed' };
  if (state === 'paused') return { icon: 's-paused', tone: 'paused', word: 'Paused' };
  if (state === 'breaker_open') return { icon: 's-paused', tone: 'paused', word: 'Breaker open' };
  if (nowMs - Date.parse(agent.lastSeenAt) < QUIET_MS) return { icon: 's-running', tone: 'running', word: 'Active' };
  return { icon: 's-idle', tone: 'idle', word: 'Idle' };
}

function List({ agents, health }: { agents: readonly Agent[]; health: ReadonlyMap<string, AgentHealth> }) {
  const { search, change, clear } = useListSearch<'q'>();
  const now = useNow();
  const shown = agents.filter(
    ({ id, name }) => search.q === undefined || `${id} ${name}`.toLowerCase().includes(search.q.toLowerCase()),
  );
  if (agents.length === 0) {
    return (
      <div className="pad">
        <Empty
          title="No agents yet."
          act={
            <Link className="b pri" to="/connect">
              Connect one
            </Link>
          }
        >
          An agent appears with its first event.
        </Empty>
      </div>
    );
  }
  return (
    <>
      <div className="bar0">
        <FilterField label="Filter agents" value={search.q ?? ''} onChange={(q) => change({ q }, true)} />
      </div>
      {shown.length === 0 ? (
        <div className="pad">
          <FilteredEmpty what="agents" filter={search.q ?? ''} onClear={clear} />
        </div>
      ) : (
        <table className="tb">
          <thead>
            <tr>
              <th>State</th>
              <th>Agent</th>
              <th className="not-s">Health</th>
              <th className="r not-s">Runs</th>
              <th className="r not-s">Errors</th>
              <th className="r not-s">Total cost</th>
              <th className="r not-s">Last seen</th>
              <th />
            </tr>
          </thead>
          <tbody>
            {shown.map((agent) => {
              const score = health.get(agent.id)?.overallScore;
              return (
                <tr key={agent.id}>
                  <td>
                    <State mark={agentMark(agent, now)} />
                  </td>
                  <td className="w100 clip">
                    <Link className="strong" to="/agents/$id" params={{ id: agent.id }}>
                      <bdi>{visibleName(agent.id)}</bdi>
                    </Link>{' '}
                    <span className="t3">
                      {visible(
                        agent.pauseReason ?? agent.control.reason ?? (agent.name === agent.id ? '' : agent.name),
                      )}
                    </span>
                  </td>
                  <td className="not-s">
                    {score === undefined ? <span className="t3">no runs</span> : <Score value={score} />}
                  </td>
                  <td className="r num not-s">{count(agent.sessionCount)}</td>
                  <td className="r num not-s">{count(agent.errorCount)}</td>
                  <td className="r num not-s">{money(agent.totalCostUsd)}</td>
                  <td className="r t2 not-s">
                    <Ago at={agent.lastSeenAt} bare />
                  </td>
                  <td className="act">
                    <StopOrResume agent={agent} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </>
  );
}

/** What an agent that is held needs is the way back. */
function StopOrResume({ agent: { id, control } }: { agent: Agent }) {
  const isHeld = control.state === 'paused' || control.state === 'killed';
  const [word, icon] = isHeld ? ['Resume', 'play'] : ['Stop', 's-killed'];
  return (
    <Act
      scope="admin"
      kind="sm"
      label={`${word} ${visibleName(id)}`}
      onPress={() => openStop({ agentId: id, state: isHeld ? 'running' : 'paused' })}
    >
      <Icon name={icon} size={14} />
      {word}…
    </Act>
  );
}

/** Health from 0 to 100. A full gauge is good, so it is never red for being full. */
function Score({ value }: { value: number }) {
  return (
    <span className="row num">
      <span className={`score r ${value < 50 ? 'bad' : value < 75 ? 'warn' : ''}`}>{Math.round(value)}</span>
      <span className="grow">
        <Gauge score value={Math.min(1, value / 100)} label={`Health ${Math.round(value)} of 100`} />
      </span>
    </span>
  );
}
