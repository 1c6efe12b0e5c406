import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { ModelCall } from '../api/model.ts';
import { count, duration, money, shortId } from '../figures/figures.ts';
import { Page } from '../shell/page.tsx';
import { bounds, DEFAULT_RANGE } from '../time/range.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { FilterChip } from '../ui/filters.tsx';
import { State } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { usePages } from '../ui/use-pages.ts';
import { stringifySearch } from '../url/search.ts';

type Name = 'run' | 'agent' | 'model' | 'connection' | 'show' | 'id' | 'range' | 'from' | 'to';

const WHOLE = { icon: 's-succeeded', tone: 'succeeded', word: 'Whole' };

/** The mark of a call: whole, stopped by AgentLens, or not whole for another reason. */
function markOf({ outcome, stopReason }: ModelCall) {
  if (outcome === 'completed') return WHOLE;
  if (stopReason !== null) return { icon: 'v-block', tone: 'block', word: 'Stopped' };
  return { icon: 's-failed', tone: 'failed', word: outcome.replaceAll('_', ' ') };
}

const idOf = ({ id }: ModelCall) => id;

/** Calls that went through the model gateway. */
export function ModelCallsPage() {
  const { search, change, clear } = useListSearch<Name>();
  const query = {
    runId: search.run,
    agentId: search.agent,
    model: search.model,
    connection: search.connection,
    show: search.show === 'incomplete' ? ('incomplete' as const) : ('all' as const),
    ...bounds(search),
    limit: 100,
  };
  const list = usePages(
    ['model-calls', stringifySearch({ ...search, id: undefined })],
    (cursor, signal) => client.listModelCalls({ query: { ...query, cursor }, signal }),
    ({ calls }) => calls,
  );
  const rows = list.rows ?? [];
  const chosen = rows.find(({ id }) => id === search.id);
  const values = (read: (call: ModelCall) => string | null) =>
    [...new Set(rows.flatMap((call) => read(call) ?? []))].map((id) => ({ id, name: id }));
  const { id: _id, range: _range, from: _from, to: _to, ...filters } = search;
  return (
    <Page
      name="decisions"
      title="Model calls"
      range={{
        value: search,
        set: (range) => change({ range: range === DEFAULT_RANGE ? undefined : range, from: undefined, to: undefined }),
      }}
    >
      <div className="bar0">
        <div className="seg" role="group" aria-label="Which calls">
          {[
            ['all', 'All'],
            ['incomplete', 'Not whole'],
          ].map(([id, name]) => (
            <button
              key={id}
              type="button"
              aria-pressed={(search.show ?? 'all') === id}
              onClick={() => change({ show: id === 'all' ? undefined : id })}
            >
              {name}
            </button>
          ))}
        </div>
        <FilterChip
          name="Agent"
          value={search.agent}
          choices={values(({ agentId }) => agentId)}
          onChange={(agent) => change({ agent })}
        />
        <FilterChip
          name="Model"
          value={search.model}
          choices={values(({ model }) => model)}
          onChange={(model) => change({ model })}
        />
        <FilterChip
          name="Connection"
          value={search.connection}
          choices={values(({ connection }) => connection)}
          onChange={(connection) => change({ connection })}
        />
        <FilterChip
          name="Run"
          value={search.run}
          choices={values(({ runId }) => runId)}
          onChange={(run) => change({ run })}
        />
        <span className="sp" />
        <Link className="link" to="/decisions" search={{ show: 'blocked' }}>
          Refused before they were sent
        </Link>
      </div>
      {list.rows === undefined ? (
        list.error === null ? (
          <Loading rows={16} />
        ) : (
          <Failed what="Model calls" error={list.error} onRetry={() => void list.refetch()} />
        )
      ) : rows.length === 0 ? (
        Object.keys(filters).length > 0 ? (
          <FilteredEmpty what="model calls" filter={Object.values(filters).join(', ')} onClear={clear} />
        ) : (
          <div className="pad">
            <Empty
              title="No model calls through the gateway."
              act={
                <Link className="b" to="/settings/connections">
                  Model connections
                </Link>
              }
            >
              Agents whose base URL is the gateway appear here, with the cost and the end of each call.
            </Empty>
          </div>
        )
      ) : (
        <div className={chosen === undefined ? 'list' : 'with-side'}>
          <div className="list">
            <DataTable
              label="Model calls"
              rows={rows}
              columns={chosen === undefined ? COLUMNS : COLUMNS.filter(({ id }) => !BESIDE_A_CALL.has(id))}
              idOf={idOf}
              current={search.id}
              onOpen={({ id }) => change({ id })}
              onEnd={list.more}
              narrow={(call) => <Narrow call={call} />}
            />
          </div>
          {chosen !== undefined && <OneCall call={chosen} onClose={() => change({ id: undefined })} />}
        </div>
      )}
    </Page>
  );
}

const COLUMNS: readonly Column<ModelCall>[] = [
  { id: 'at', head: 'Ended', width: '96px', cell: ({ at }) => <Moment at={at} /> },
  { id: 'end', head: 'Answer', width: '130px', cell: (call) => <State mark={markOf(call)} /> },
  { id: 'model', head: 'Model', width: 'minmax(0, 1.3fr)', cell: ({ model }) => visibleName(model ?? 'unknown') },
  { id: 'agent', head: 'Agent', width: 'minmax(0, 1fr)', cell: ({ agentId }) => visibleName(agentId) },
  { id: 'connection', head: 'Connection', width: 'minmax(0, 0.8fr)', cell: ({ connection }) => connection },
  { id: 'first', head: 'First byte', width: '80px', right: true, cell: ({ firstByteMs }) => timeText(firstByteMs) },
  { id: 'took', head: 'Took', width: '72px', right: true, cell: ({ latencyMs }) => timeText(latencyMs) },
  {
    id: 'tokens',
    head: 'Tokens',
    width: '110px',
    right: true,
    cell: ({ inputTokens, outputTokens }) => `${countText(inputTokens)} → ${countText(outputTokens)}`,
  },
  { id: 'cost', head: 'Cost', width: '84px', right: true, cell: ({ costUsd }) => costText(costUsd) },
];

/** Columns that the panel of the chosen call shows, so that the others have room. */
const BESIDE_A_CALL = new Set(['connection', 'first', 'took', 'tokens']);

function timeText(ms: number | null): string {
  return ms === null ? '—' : duration(ms);
}

function countText(tokens: number | null): string {
  return tokens === null ? '—' : count(tokens);
}

function costText(usd: number | null): string {
  return usd === null ? '—' : money(usd);
}

function Narrow({ call }: { call: ModelCall }) {
  return (
    <span className="vcard">
      <span className="row">
        <State mark={markOf(call)} />
        <b className="clip">{visibleName(call.model ?? 'unknown')}</b>
        <span className="ml num">{costText(call.costUsd)}</span>
      </span>
      <span className="t2 clip">
        {visibleName(call.agentId)}, {timeText(call.latencyMs)}, <Moment at={call.at} short />
      </span>
    </span>
  );
}

/** Where the counts come from, in words. */
const SOURCES: Readonly<Record<string, string>> = {
  provider: 'as the provider reported',
  partial: 'input as reported, output counted',
  counted: 'input estimated, output counted',
  estimated: 'estimated before the call',
};

/** Why a connection gave way to its fallback. */
function attemptText({ connection, problem, tookMs }: ModelCall['failedAttempts'][number]): string {
  return `${connection}: ${visible(problem)}, after ${duration(tookMs)}`;
}

function OneCall({ call, onClose }: { call: ModelCall; onClose: () => void }) {
  return (
    <aside className="side-panel" aria-label="Model call">
      <Section
        first
        title={visibleName(call.model ?? 'Model call')}
        link={
          <button type="button" className="b sm ml" onClick={onClose}>
            Close
          </button>
        }
      >
        <Facts
          facts={[
            ['Answer', <State key="s" mark={markOf(call)} />],
            call.stopReason !== null && ['Stopped because', visible(call.stopReason)],
            call.finishReason !== null && ['Finish reason', visible(call.finishReason)],
            call.status !== null && ['Provider answered', String(call.status)],
            ['Ended', <Moment key="m" at={call.at} ms />],
            ['First byte', timeText(call.firstByteMs)],
            ['Took', timeText(call.latencyMs)],
            ['Tokens', `${countText(call.inputTokens)} in, ${countText(call.outputTokens)} out`],
            call.usageSource !== null && ['Counted', SOURCES[call.usageSource] ?? call.usageSource],
            ['Cost', costText(call.costUsd)],
            ['Tool calls asked', String(call.toolCalls)],
            ['Connection', call.connection],
            call.failedAttempts.length > 0 && ['Tried before', call.failedAttempts.map(attemptText).join('; ')],
            [
              'Agent',
              <Link key="a" to="/agents/$id" params={{ id: call.agentId }}>
                {visibleName(call.agentId)}
              </Link>,
            ],
            [
              'Run',
              <Link
                key="r"
                to="/runs/$id"
                params={{ id: call.runId }}
                search={{ step: call.id }}
                title="The call with its decisions and tool calls"
              >
                {shortId(call.runId)}
              </Link>,
            ],
            [
              'Id',
              <span key="i" className="mono">
                {call.id}
              </span>,
            ],
          ]}
        />
      </Section>
    </aside>
  );
}
