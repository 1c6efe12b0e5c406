import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Run } from '../api/model.ts';
import { count, counted, duration, moneyCell, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useSteady } from '../live-data/steady.ts';
import { Page } from '../shell/page.tsx';
import { openStop } from '../shell/stop.tsx';
import { DEFAULT_RANGE, rangeName, wider } from '../time/range.ts';
import { Act } from '../ui/act.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ExportMenu } from '../ui/export-list.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { FilterChip, FilterField, NewRows } from '../ui/filters.tsx';
import { Icon } from '../ui/icon.tsx';
import { RunState, statusOf } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { SavedViews } from '../ui/saved-views.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { usePages } from '../ui/use-pages.ts';
import { stringifySearch } from '../url/search.ts';
import { Facets } from './facets.tsx';
import {
  COSTS,
  filterInWords,
  HAS,
  isFiltered,
  type RunSearchName,
  runQuery,
  SORTS,
  TOOK,
  tagFilters,
} from './run-filter.ts';
import { aboutRun } from './run-task.ts';
import './runs.css';

const PAGE = 100;
/** Stands for the list without a filter, which has no search of its own. */
const ALL_RUNS = 'all';

const idOf = (run: Run) => run.id;

export function RunsPage() {
  const { search, change, clear } = useListSearch<RunSearchName>();
  const navigate = useNavigate();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [following, setFollowing] = useState(true);
  const filterKey = stringifySearch({ ...search, at: undefined });
  const facetKey = stringifySearch({ ...search, at: undefined, sort: undefined, order: undefined });
  const sort = SORTS.find(({ id }) => id === search.sort)?.id ?? 'started';
  const order = search.order === 'asc' ? 'asc' : 'desc';
  const list = usePages(
    ['runs', filterKey],
    (cursor, signal) => client.listRuns({ query: { ...runQuery(search), sort, order, limit: PAGE, cursor }, signal }),
    ({ runs }) => runs,
  );
  const facets = useRead(['runs', 'facets', facetKey], (signal) =>
    client.getRunFacets({ query: runQuery(search), signal }),
  );
  const { rows, waiting, showNew } = useSteady(list.rows ?? [], idOf, filterKey, following && selected.size === 0);
  const open = (run: Run) =>
    void navigate({
      to: '/runs/$id',
      params: { id: run.id },
      search: { list: filterKey.slice(1) || ALL_RUNS },
    });
  const toggle = (id: string) =>
    setSelected((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]),
    );
  const range = {
    value: search,
    set: (next: string) => change({ range: next === DEFAULT_RANGE ? undefined : next, from: undefined, to: undefined }),
  };
  const chosen = rows.filter(({ id }) => selected.has(id));
  return (
    <Page
      name="runs"
      title="Runs"
      range={range}
      stop={chosen.length > 0 ? { runs: chosen } : search.agent === undefined ? {} : { agentId: search.agent }}
    >
      <div className="bar0">
        <FilterField
          label="Part of an id, agent, user or tag"
          value={search.q ?? ''}
          onChange={(q) => change({ q }, true)}
        />
        <FilterChip
          name="Agent"
          value={search.agent}
          choices={(facets.data?.agents ?? []).map(({ value, runs }) => ({
            id: value,
            name: value,
            hint: count(runs),
          }))}
          onChange={(agent) => change({ agent })}
        />
        {tagFilters(search, facets.data).map(({ name, tag, choices, next }) => (
          <FilterChip
            key={`${name} ${tag}`}
            name={name}
            value={tag}
            choices={choices}
            onChange={(value) => change({ tag: next(value) })}
          />
        ))}
        <FilterChip name="Cost" value={search.cost} choices={COSTS} onChange={(cost) => change({ cost })} />
        <FilterChip name="Took" value={search.took} choices={TOOK} onChange={(took) => change({ took })} />
        <FilterChip name="Has" value={search.has} choices={HAS} onChange={(has) => change({ has })} />
        <span className="only-s">
          <FilterChip
            name="Sort by"
            value={search.sort}
            choices={SORTS}
            onChange={(next) => change({ sort: next, order: undefined })}
          />
        </span>
        {search.rule !== undefined && (
          <FilterChip
            name="Rule"
            value={search.rule}
            show={shortId(search.rule)}
            choices={[]}
            onChange={(rule) => change({ rule })}
          />
        )}
        {search.session !== undefined && (
          <FilterChip name="Session" value={search.session} choices={[]} onChange={(session) => change({ session })} />
        )}
        {search.actor !== undefined && (
          <FilterChip name="User" value={search.actor} choices={[]} onChange={(actor) => change({ actor })} />
        )}
        <span className="sp" />
        <SavedViews page="runs" />
        <ExportMenu
          list={{
            name: 'runs',
            read: async (cursor) => {
              const page = await client.listRuns({ query: { ...runQuery(search), sort, order, limit: 500, cursor } });
              return { ...page, rows: page.runs };
            },
            columns: EXPORTED,
          }}
        />
        <NewRows waiting={waiting} onShow={showNew} />
        <span className="t3 num not-s">
          {facets.data !== undefined && `${counted(facets.data.total, 'run')}, ${rangeName(search).toLowerCase()}`}
        </span>
      </div>
      <Facets facets={facets.data} search={search} onChange={change} />
      <div className="list">
        {list.rows === undefined ? (
          list.error === null ? (
            <Loading rows={16} />
          ) : (
            <Failed what="Runs" error={list.error} onRetry={() => void list.refetch()} />
          )
        ) : rows.length > 0 ? (
          <DataTable
            label="Runs"
            rows={rows}
            columns={COLUMNS(selected, toggle)}
            sorting={{
              by: sort,
              order,
              onSort: (by, next) =>
                change({ sort: by === 'started' ? undefined : by, order: next === 'desc' ? undefined : next }),
            }}
            idOf={idOf}
            onOpen={open}
            selected={selected}
            onSelect={toggle}
            onEnd={list.more}
            onFollowing={setFollowing}
            narrow={(run) => <Narrow run={run} />}
          />
        ) : isFiltered(search) ? (
          <div className="pad">
            <FilteredEmpty
              what={`runs in the ${rangeName(search).toLowerCase()}`}
              filter={filterInWords(search)}
              onClear={clear}
              widen={{
                name: rangeName({ range: wider(search.range ?? DEFAULT_RANGE) }).toLowerCase(),
                go: () => change({ range: wider(search.range ?? DEFAULT_RANGE) }),
              }}
            />
          </div>
        ) : (
          <div className="pad">
            <Empty
              title={`No runs in the ${rangeName(search).toLowerCase()}.`}
              act={
                <>
                  <button
                    type="button"
                    className="b"
                    onClick={() => change({ range: wider(search.range ?? DEFAULT_RANGE) })}
                  >
                    Widen to {rangeName({ range: wider(search.range ?? DEFAULT_RANGE) }).toLowerCase()}
                  </button>
                  <Link className="b quiet" to="/connect">
                    Connect an agent
                  </Link>
                </>
              }
            >
              A run appears with its first event.
            </Empty>
          </div>
        )}
      </div>
      {chosen.length > 0 && <Bulk runs={chosen} onClear={() => setSelected(new Set())} />}
    </Page>
  );
}

/** Actions on the selected runs. The dialog lists what they affect. */
function Bulk({ runs, onClear }: { runs: readonly Run[]; onClear: () => void }) {
  const agents = new Set(runs.map(({ agentId }) => agentId));
  const [first, second] = runs.toSorted((a, b) => (a.startedAt < b.startedAt ? -1 : 1));
  const act = (state: 'killed' | 'paused' | 'running') => openStop({ runs, state });
  return (
    <div className="bulk pop" role="toolbar" aria-label="Selected runs">
      <span>
        <b>{counted(runs.length, 'run')}</b> of {agents.size === 1 ? [...agents][0] : counted(agents.size, 'agent')}
      </span>
      {first !== undefined && second !== undefined && runs.length === 2 && (
        <Link className="b" to="/runs/compare" search={{ a: first.id, b: second.id }}>
          Compare
        </Link>
      )}
      <Act scope="admin" onPress={() => act('running')}>
        <Icon name="play" size={14} />
        Resume {runs.length}…
      </Act>
      <Act scope="admin" onPress={() => act('paused')}>
        <Icon name="pause" size={14} />
        Pause {runs.length}…
      </Act>
      <Act scope="admin" kind="danger" onPress={() => act('killed')}>
        <Icon name="s-killed" size={14} />
        Kill {runs.length}…
      </Act>
      <button type="button" className="b quiet ico" aria-label="Clear selection" onClick={onClear}>
        <Icon name="x" />
      </button>
    </div>
  );
}

const EXPORTED: Readonly<Record<string, (run: Run) => unknown>> = {
  id: ({ id }) => id,
  agent: ({ agentId }) => agentId,
  status: ({ status }) => status,
  started: ({ startedAt }) => startedAt,
  ended: ({ endedAt }) => endedAt,
  durationMs: ({ durationMs }) => durationMs,
  steps: ({ totals }) => totals.steps,
  errors: ({ totals }) => totals.errors,
  modelCalls: ({ totals }) => totals.llmCalls,
  tokens: ({ totals }) => totals.totalTokens,
  costUsd: ({ totals }) => totals.costUsd,
  unpricedCalls: ({ totals }) => totals.unpricedCalls,
  model: ({ model }) => model,
  session: ({ sessionId }) => sessionId,
  parentRun: ({ parentRunId }) => parentRunId,
  tags: ({ tags }) => tags.join(' '),
};

const COLUMNS = (selected: ReadonlySet<string>, toggle: (id: string) => void): readonly Column<Run>[] => [
  {
    id: 'choose',
    head: <span className="vh">Select</span>,
    width: '32px',
    cell: (run) => (
      <input
        type="checkbox"
        className="cks"
        aria-label={`Select run ${run.id}`}
        checked={selected.has(run.id)}
        onChange={() => toggle(run.id)}
      />
    ),
  },
  { id: 'status', head: 'Status', width: '106px', cell: (run) => <RunState status={statusOf(run)} /> },
  {
    id: 'agent',
    head: 'Agent and task',
    width: 'minmax(110px, 1fr)',
    cell: (run) => (
      <>
        {run.parentRunId !== undefined && <span className="t3">↳ </span>}
        <bdi className="strong">{visibleName(run.agentId)}</bdi> <bdi className="t3">{visible(aboutRun(run))}</bdi>
      </>
    ),
  },
  {
    id: 'id',
    head: 'Run',
    width: '134px',
    cell: (run) => (
      <span className="mono t2" title={run.id}>
        {shortId(run.id)}
      </span>
    ),
  },
  {
    id: 'started',
    head: 'Started',
    width: '106px',
    right: true,
    sort: 'started',
    cell: (run) => <Moment at={run.startedAt} short />,
  },
  {
    id: 'took',
    head: 'Took',
    width: '68px',
    right: true,
    sort: 'duration',
    cell: (run) => <span className="num">{duration(run.durationMs)}</span>,
  },
  {
    id: 'steps',
    head: 'Steps',
    width: '50px',
    right: true,
    sort: 'steps',
    cell: (run) => <span className="num">{count(run.totals.steps)}</span>,
  },
  { id: 'cost', head: 'Cost $', width: '66px', right: true, sort: 'cost', cell: (run) => <Cost run={run} /> },
  {
    id: 'tokens',
    head: 'Tokens',
    width: '66px',
    right: true,
    sort: 'tokens',
    cell: (run) => (
      <span className="num t2">
        {run.totals.llmCalls === 0 && run.totals.totalTokens === 0 ? '—' : count(run.totals.totalTokens)}
      </span>
    ),
  },
  {
    id: 'errors',
    head: 'Errors',
    width: '54px',
    right: true,
    sort: 'errors',
    cell: (run) =>
      run.totals.errors === 0 ? (
        <span className="t3 num">0</span>
      ) : (
        <span className="bad num">{count(run.totals.errors)}</span>
      ),
  },
];

function Narrow({ run }: { run: Run }) {
  return (
    <>
      <span className="row">
        <RunState status={statusOf(run)} />
        <span className="ml t3">
          <Moment at={run.startedAt} short />
        </span>
      </span>
      <span className="clip">
        <bdi className="strong">{visibleName(run.agentId)}</bdi> <bdi className="t3">{visible(aboutRun(run))}</bdi>
      </span>
      <span className="row t2 num">
        <span className="mono t3" title={run.id}>
          {shortId(run.id)}
        </span>
        {' · '}
        {duration(run.durationMs)} · {counted(run.totals.steps, 'step')}
        <span className="ml">
          $ <Cost run={run} />
        </span>
      </span>
    </>
  );
}

/** Cost of a run. An unknown cost is not 0. */
function Cost({ run }: { run: Run }) {
  const { costUsd, unpricedCalls, llmCalls } = run.totals;
  if (costUsd === 0 && unpricedCalls > 0)
    return (
      <span className="t3" title={`${counted(unpricedCalls, 'model call')} without a known price`}>
        unknown
      </span>
    );
  if (llmCalls === 0 && costUsd === 0) return <span className="t3">—</span>;
  return (
    <span
      className="num"
      title={unpricedCalls > 0 ? `and ${counted(unpricedCalls, 'call')} without a known price` : undefined}
    >
      {moneyCell(costUsd)}
    </span>
  );
}
