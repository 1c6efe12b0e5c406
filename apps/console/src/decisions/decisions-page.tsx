import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Decision, Rule } from '../api/model.ts';
import { duration, shortId } from '../figures/figures.ts';
import { useSteady } from '../live-data/steady.ts';
import { useRules } from '../rules/use-rules.ts';
import { Page } from '../shell/page.tsx';
import { bounds, DEFAULT_RANGE, rangeName, wider } from '../time/range.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { FilterChip, NewRows } from '../ui/filters.tsx';
import { VerdictMark, verdictOf } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { usePages } from '../ui/use-pages.ts';
import { stringifySearch } from '../url/search.ts';

type Name = 'show' | 'agent' | 'rule' | 'tool' | 'range' | 'from' | 'to';

/** Ready-made questions. `bypassed` is picked from what was read: the API does not filter by it. */
const PRESETS = [
  { id: 'all', name: 'All', query: {} },
  { id: 'blocked', name: 'Blocked', query: { verdict: 'BLOCK' } },
  { id: 'asked', name: 'Asked a human', query: { effect: 'ask' } },
  { id: 'shadow', name: 'Would have blocked', query: { verdict: 'ALLOW', effect: 'block,terminate,ask' } },
  { id: 'bypassed', name: 'Let pass', query: {} },
] as const;

const idOf = (decision: Decision) => decision.id;

export function DecisionsPage() {
  const { search, change, clear } = useListSearch<Name>();
  const navigate = useNavigate();
  const rules = useRules().data?.rules ?? [];
  const [following, setFollowing] = useState(true);
  const preset = PRESETS.find(({ id }) => id === search.show) ?? PRESETS[0];
  const key = stringifySearch(search);
  const query = {
    ...preset.query,
    agentId: search.agent,
    ruleId: search.rule,
    toolName: search.tool,
    ...bounds(search),
    limit: 100,
  };
  const list = usePages(
    ['decisions', key],
    (cursor, signal) => client.listDecisions({ query: { ...query, cursor }, signal }),
    ({ decisions }) => decisions,
  );
  const { rows: steady, waiting, showNew } = useSteady(list.rows ?? [], idOf, key, following);
  const rows = preset.id === 'bypassed' ? steady.filter(({ bypasses }) => bypasses.length > 0) : steady;
  const open = (decision: Decision) =>
    void navigate({
      to: '/runs/$id',
      params: { id: decision.runId },
      search: { step: decision.callId ?? `decision ${decision.id}`, tab: 'why' } as never,
    });
  const filtered =
    search.show !== undefined || search.agent !== undefined || search.rule !== undefined || search.tool !== undefined;
  return (
    <Page
      name="decisions"
      title="Decisions"
      range={{
        value: search,
        set: (range) => change({ range: range === DEFAULT_RANGE ? undefined : range, from: undefined, to: undefined }),
      }}
      stop={search.agent === undefined ? {} : { agentId: search.agent }}
    >
      <div className="bar0">
        <div className="seg" role="group" aria-label="Which decisions">
          {PRESETS.map(({ id, name }) => (
            <button
              key={id}
              type="button"
              aria-pressed={preset.id === id}
              onClick={() => change({ show: id === 'all' ? undefined : id })}
            >
              {name}
            </button>
          ))}
        </div>
        <FilterChip
          name="Rule"
          value={search.rule}
          show={rules.find(({ id }) => id === search.rule)?.name}
          choices={rules.map(({ id, name }) => ({ id, name }))}
          onChange={(rule) => change({ rule })}
        />
        <FilterChip
          name="Agent"
          value={search.agent}
          choices={[...new Set(rows.map(({ agentId }) => agentId))].map((id) => ({ id, name: id }))}
          onChange={(agent) => change({ agent })}
        />
        <FilterChip
          name="Tool"
          value={search.tool}
          choices={[...new Set(rows.flatMap(({ toolName }) => toolName ?? []))].map((id) => ({ id, name: id }))}
          onChange={(tool) => change({ tool })}
        />
        <span className="sp" />
        <NewRows waiting={waiting} onShow={showNew} />
      </div>
      {list.rows === undefined ? (
        list.error === null ? (
          <Loading rows={16} />
        ) : (
          <Failed what="Decisions" error={list.error} onRetry={() => void list.refetch()} />
        )
      ) : rows.length > 0 ? (
        <DataTable
          label="Decisions"
          rows={rows}
          columns={columns(rules)}
          idOf={idOf}
          onOpen={open}
          onEnd={list.more}
          onFollowing={setFollowing}
          narrow={(decision) => <Narrow decision={decision} rules={rules} />}
        />
      ) : (
        <div className="pad">
          {filtered ? (
            <FilteredEmpty
              what={`decisions in the ${rangeName(search).toLowerCase()}`}
              filter={preset.name}
              onClear={clear}
              widen={{
                name: rangeName({ range: wider(search.range ?? DEFAULT_RANGE) }).toLowerCase(),
                go: () => change({ range: wider(search.range ?? DEFAULT_RANGE) }),
              }}
            />
          ) : (
            <Empty
              title="No agent has asked yet."
              act={
                <Link className="b" to="/connect">
                  Connect one that asks
                </Link>
              }
            >
              An agent that asks before it acts gets a decision for each call.
            </Empty>
          )}
        </div>
      )}
    </Page>
  );
}

function ruleNames(decision: Decision, rules: readonly Rule[]): string {
  const said = decision.evaluatedRules.filter(({ violated }) => violated).map(({ ruleId }) => ruleId);
  const ids = said.length > 0 ? said : decision.bypasses.map(({ ruleId }) => ruleId);
  return ids
    .map((id) => rules.find((rule) => rule.id === id)?.name ?? (id === '*' ? 'every rule' : shortId(id)))
    .join(', ');
}

function Narrow({ decision, rules }: { decision: Decision; rules: readonly Rule[] }) {
  return (
    <>
      <span className="row">
        <VerdictMark mark={verdictOf(decision)} />
        <span className="ml t3">
          <Moment at={decision.decidedAt} short />
        </span>
      </span>
      <span className="clip">
        <bdi className="mono">{visibleName(decision.toolName ?? '')}</bdi>{' '}
        <span className="t3">{decision.agentId}</span>
      </span>
      <span className="clip t2">{ruleNames(decision, rules)}</span>
    </>
  );
}

const columns = (rules: readonly Rule[]): readonly Column<Decision>[] => [
  { id: 'verdict', head: 'Verdict', width: '148px', cell: (decision) => <VerdictMark mark={verdictOf(decision)} /> },
  {
    id: 'tool',
    head: 'Call',
    width: 'minmax(100px, 0.8fr)',
    cell: (decision) => (
      <bdi className="mono">{decision.toolName === undefined ? 'model call' : visibleName(decision.toolName)}</bdi>
    ),
  },
  { id: 'agent', head: 'Agent', width: 'minmax(90px, 0.7fr)', cell: (decision) => <bdi>{decision.agentId}</bdi> },
  {
    id: 'rule',
    head: 'Rule',
    width: 'minmax(120px, 1.2fr)',
    cell: (decision) => <span className="t2">{ruleNames(decision, rules)}</span>,
  },
  {
    id: 'run',
    head: 'Run',
    width: '84px',
    cell: (decision) => <span className="mono t2">{shortId(decision.runId)}</span>,
  },
  {
    id: 'took',
    head: 'Took',
    width: '76px',
    right: true,
    cell: (decision) => <span className="num">{duration(decision.latencyMs)}</span>,
  },
  { id: 'at', head: 'Decided', width: '132px', right: true, cell: (decision) => <Moment at={decision.decidedAt} /> },
];
