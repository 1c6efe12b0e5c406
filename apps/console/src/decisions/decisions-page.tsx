import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { argumentLine } from '../../../../libs/contracts/src/argument-line.ts';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { ruleWords } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import type { Decision } from '../api/model.ts';
import { count, duration, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { useSteady } from '../live-data/steady.ts';
import { useRules } from '../rules/use-rules.ts';
import { Page } from '../shell/page.tsx';
import { bounds, DEFAULT_RANGE, rangeName, wider } from '../time/range.ts';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ExportMenu } from '../ui/export-list.tsx';
import { Empty, Failed, FilteredEmpty, Loading } from '../ui/faces.tsx';
import { FilterChip, NewRows } from '../ui/filters.tsx';
import { bypassedRules, VerdictMark, verdictOf } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { SavedViews } from '../ui/saved-views.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { usePages } from '../ui/use-pages.ts';
import { stringifySearch } from '../url/search.ts';
import { BecauseLinks, type DeciderNames } from './because.tsx';
import { RefusalGroups } from './refusals.tsx';

type Name = 'show' | 'agent' | 'rule' | 'tool' | 'range' | 'from' | 'to';

/** Ready-made filters. `bypassed` is applied to the rows that were read, because the API does not filter by it. */
const PRESETS = [
  { id: 'all', name: 'All', query: {} },
  { id: 'blocked', name: 'Blocked', query: { verdict: 'BLOCK' } },
  { id: 'asked', name: 'Needed approval', query: { effect: 'ask' } },
  { id: 'shadow', name: 'Would have blocked', query: { wouldHave: 'ask,block,terminate' } },
  { id: 'bypassed', name: 'Bypassed', query: {} },
  { id: 'refused', name: 'Blocked wrongly?', query: { verdict: 'BLOCK' } },
] as const;

const idOf = (decision: Decision) => decision.id;

export function DecisionsPage() {
  const { search, change, clear } = useListSearch<Name>();
  const navigate = useNavigate();
  const rules = useRules().data?.rules ?? [];
  const budgets = useRead(['budgets', 'names'], (signal) => client.listBudgets({ query: { limit: 100 }, signal })).data;
  const names: DeciderNames = {
    rules: new Map(rules.map(({ id, name }) => [id, name])),
    words: new Map(rules.map((rule) => [rule.id, ruleWords(rule)])),
    budgets: new Map(budgets?.budgets.map(({ id, name }) => [id, name])),
  };
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
  const rows = preset.id === 'bypassed' ? steady.filter((decision) => bypassedRules(decision).length > 0) : steady;
  const open = (decision: Decision) =>
    void navigate({
      to: '/runs/$id',
      params: { id: decision.runId },
      search: { step: decision.callId ?? `decision ${decision.id}`, tab: 'why' },
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
        <SavedViews page="decisions" />
        <ExportMenu
          list={{
            name: 'decisions',
            read: async (cursor) => {
              const page = await client.listDecisions({ query: { ...query, limit: 500, cursor } });
              return { ...page, rows: page.decisions };
            },
            columns: EXPORTED,
          }}
        />
        <NewRows waiting={waiting} onShow={showNew} />
      </div>
      {preset.id === 'refused' ? (
        <RefusalGroups query={{ ruleId: search.rule, agentId: search.agent, ...bounds(search) }} />
      ) : list.rows === undefined ? (
        list.error === null ? (
          <Loading rows={16} />
        ) : (
          <Failed what="Decisions" error={list.error} onRetry={() => void list.refetch()} />
        )
      ) : rows.length > 0 ? (
        <DataTable
          label="Decisions"
          rows={rows}
          columns={columns(names)}
          idOf={idOf}
          onOpen={open}
          onEnd={list.more}
          onFollowing={setFollowing}
          narrow={(decision) => <Narrow decision={decision} names={names} />}
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
              title="No decisions yet."
              act={
                <Link className="b" to="/connect">
                  Connect an agent
                </Link>
              }
            >
              An agent that asks before each call gets a decision here.
            </Empty>
          )}
        </div>
      )}
    </Page>
  );
}

function Narrow({ decision, names }: { decision: Decision; names: DeciderNames }) {
  return (
    <>
      <span className="row">
        <VerdictMark mark={verdictOf(decision)} /> <AskedTimes decision={decision} />
        <span className="ml t3">
          <Moment at={decision.decidedAt} short />
        </span>
      </span>
      <span className="clip">
        <CallName decision={decision} /> <span>{visible(argumentLine(decision.arguments))}</span>{' '}
        <span className="t3">{visibleName(decision.agentId)}</span>
      </span>
      <BecauseLinks decision={decision} names={names} />
    </>
  );
}

function CallName({ decision: { toolName } }: { decision: Decision }) {
  return <bdi className="mono">{toolName === undefined ? 'model call' : visibleName(toolName)}</bdi>;
}

/** A call is asked again while it waits for a person; that stays one decision. */
function AskedTimes({ decision: { askedTimes } }: { decision: Decision }) {
  return askedTimes === undefined ? null : <span className="t3 num">asked {count(askedTimes)} times</span>;
}

const EXPORTED: Readonly<Record<string, (decision: Decision) => unknown>> = {
  id: ({ id }) => id,
  decided: ({ decidedAt }) => decidedAt,
  verdict: ({ verdict }) => verdict,
  effect: ({ effect }) => effect,
  wouldHave: ({ wouldHave }) => wouldHave,
  tool: ({ toolName }) => toolName,
  arguments: ({ arguments: args }) => (args === undefined ? '' : JSON.stringify(args)),
  agent: ({ agentId }) => agentId,
  run: ({ runId }) => runId,
  call: ({ callId }) => callId,
  reason: ({ reason }) => reason,
  rule: ({ finalRuleId }) => finalRuleId,
  budget: ({ budgetId }) => budgetId,
  askedTimes: ({ askedTimes }) => askedTimes ?? 1,
  message: ({ message }) => message,
  decidedBy: ({ decider }) => decider?.by,
  askedBecause: ({ decider }) => decider?.asked,
  latencyMs: ({ latencyMs }) => latencyMs,
};

const columns = (names: DeciderNames): readonly Column<Decision>[] => [
  {
    id: 'verdict',
    head: 'Verdict',
    width: '148px',
    cell: (decision) => <VerdictMark mark={verdictOf(decision)} />,
  },
  {
    id: 'tool',
    head: 'Call',
    width: 'minmax(180px, 2.2fr)',
    cell: (decision) => (
      <span className="clip" title={visible(argumentLine(decision.arguments))}>
        <CallName decision={decision} /> <AskedTimes decision={decision} />{' '}
        <span className="t3">{visible(argumentLine(decision.arguments))}</span>
      </span>
    ),
  },
  {
    id: 'agent',
    head: 'Agent',
    width: 'minmax(90px, 0.8fr)',
    cell: (decision) => <bdi>{visibleName(decision.agentId)}</bdi>,
  },
  {
    id: 'because',
    head: 'Because',
    width: 'minmax(120px, 1.2fr)',
    cell: (decision) => <BecauseLinks decision={decision} names={names} />,
  },
  {
    id: 'run',
    head: 'Run',
    width: '142px',
    cell: (decision) => (
      <span className="mono t2 clip" title={decision.runId}>
        {shortId(decision.runId)}
      </span>
    ),
  },
  {
    id: 'took',
    head: 'Took',
    width: '62px',
    right: true,
    cell: (decision) => <span className="num">{duration(decision.latencyMs)}</span>,
  },
  { id: 'at', head: 'Decided', width: '124px', right: true, cell: (decision) => <Moment at={decision.decidedAt} /> },
];
