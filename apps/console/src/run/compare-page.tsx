import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { RunDetail } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { count, counted, duration, moneyCell, shortId } from '../figures/figures.ts';
import { aboutRun } from '../runs/run-task.ts';
import { Page } from '../shell/page.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { Empty, Failed, Loading, Missing } from '../ui/faces.tsx';
import { RunState, statusOf } from '../ui/marks.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { aligned, type Pair } from './align.ts';
import { type Step, storyOf } from './story.ts';
import { useRunDetail, useTimeline } from './use-run.ts';

const SIDES = ['a', 'b'] as const;
type Side = (typeof SIDES)[number];
type Name = Side | 'show';

interface Row extends Pair<Step> {
  readonly id: string;
}

/** Two runs side by side: totals, and their steps aligned by tool and order. */
export function ComparePage() {
  const { search, change } = useListSearch<Name>();
  const [a, b] = [search.a ?? '', search.b ?? ''];
  const runs = { a: useRunDetail(a), b: useRunDetail(b) };
  const failed = runs.a.error ?? runs.b.error;
  return (
    <Page
      name="compare"
      title="Compare"
      crumbs={[{ name: 'Runs', to: '/runs' }]}
      time="Whole runs"
      extra={
        <button type="button" className="b quiet not-s" onClick={() => change({ a: b, b: a })}>
          Swap
        </button>
      }
    >
      {a === '' || b === '' ? (
        <Missing title="Select two runs to compare." list={{ name: 'All runs', to: '/runs' }}>
          Select two runs in the list and press Compare, or open a run and press Compare there.
        </Missing>
      ) : failed !== null && problemOf(failed).status !== 404 ? (
        <Failed what="The runs" error={failed} onRetry={() => void Promise.all([runs.a.refetch(), runs.b.refetch()])} />
      ) : failed !== null ? (
        <Missing title="Run not found." list={{ name: 'All runs', to: '/runs' }}>
          Your tenant has no run with the id <bdi className="mono">{visibleName(runs.a.error === null ? b : a)}</bdi>.
        </Missing>
      ) : runs.a.data === undefined || runs.b.data === undefined ? (
        <Loading rows={18} />
      ) : (
        <Compared
          a={runs.a.data}
          b={runs.b.data}
          onlyDifferences={search.show === 'differences'}
          onShow={(show) => change({ show })}
        />
      )}
    </Page>
  );
}

interface ComparedProps {
  readonly a: RunDetail;
  readonly b: RunDetail;
  readonly onlyDifferences: boolean;
  readonly onShow: (show: string | undefined) => void;
}

function Compared({ a, b, onlyDifferences, onShow }: ComparedProps) {
  const navigate = useNavigate();
  const timelines = { a: useTimeline(a.id), b: useTimeline(b.id) };
  const [entriesA, entriesB] = [timelines.a.data, timelines.b.data];
  const rows = useMemo(() => {
    const calls = (entries: typeof entriesA, run: RunDetail) =>
      storyOf(entries?.entries ?? [], run.status !== 'running').filter(
        ({ kind }) => kind === 'tool' || kind === 'model',
      );
    return aligned(calls(entriesA, a), calls(entriesB, b)).map((pair, index) => ({ ...pair, id: String(index) }));
  }, [entriesA, entriesB, a, b]);
  const shown = onlyDifferences ? rows.filter(isDifferent) : rows;
  const open = ({ a: stepA, b: stepB }: Row) => {
    const [run, step] = stepA === undefined ? [b, stepB] : [a, stepA];
    void navigate({ to: '/runs/$id', params: { id: run.id }, search: { step: step?.id } });
  };
  const error = timelines.a.error ?? timelines.b.error;
  return (
    <>
      <Totals a={a} b={b} />
      <div className="bar0">
        <span className="t2 num">
          {counted(rows.length, 'step')}, {count(rows.filter(isDifferent).length)} different
        </span>
        <span className="sp" />
        <button
          type="button"
          className="chip"
          aria-pressed={onlyDifferences}
          onClick={() => onShow(onlyDifferences ? undefined : 'differences')}
        >
          Only differences
        </button>
      </div>
      {entriesA === undefined || entriesB === undefined ? (
        error === null ? (
          <Loading rows={14} />
        ) : (
          <Failed
            what="The timelines"
            error={error}
            onRetry={() => void Promise.all([timelines.a.refetch(), timelines.b.refetch()])}
          />
        )
      ) : shown.length === 0 ? (
        <div className="pad">
          <Empty title={rows.length === 0 ? 'Neither run has made a call.' : 'The runs made the same calls.'}>
            {rows.length === 0
              ? 'Model and tool calls are compared here.'
              : 'Each call has a partner with the same result. Durations and costs may differ.'}
          </Empty>
        </div>
      ) : (
        <div className="list">
          <DataTable
            label="Steps of both runs"
            rows={shown}
            columns={COLUMNS}
            idOf={({ id }) => id}
            onOpen={open}
            narrow={(row) => <Narrow row={row} />}
          />
        </div>
      )}
      {(entriesA?.truncated === true || entriesB?.truncated === true) && (
        <p className="hint pad">Only the first 20,000 entries of a run are compared.</p>
      )}
    </>
  );
}

/** Only one run has the step, or it ended differently. */
function isDifferent({ a, b }: Pair<Step>): boolean {
  return a?.state !== b?.state;
}

const FIGURES: readonly {
  readonly name: string;
  readonly of: (run: RunDetail) => number;
  readonly show: (value: number) => string;
  /** Hidden on a phone. */
  readonly wide?: true;
}[] = [
  { name: 'Cost $', of: ({ totals }) => totals.costUsd, show: moneyCell },
  { name: 'Tokens', of: ({ totals }) => totals.totalTokens, show: count },
  { name: 'Duration', of: ({ durationMs }) => durationMs, show: duration },
  { name: 'Model calls', of: ({ totals }) => totals.llmCalls, show: count, wide: true },
  { name: 'Tool calls', of: ({ totals }) => totals.toolCalls, show: count, wide: true },
  { name: 'Errors', of: ({ totals }) => totals.errors, show: count },
];

function Totals({ a, b }: { a: RunDetail; b: RunDetail }) {
  const runs = [
    ['A', a],
    ['B', b],
  ] as const;
  return (
    <div className="totals">
      <ul>
        {runs.map(([letter, run]) => (
          <li key={letter} className="row">
            <b>{letter}</b>
            <RunState status={statusOf(run)} />
            <Link className="link mono nowrap" to="/runs/$id" params={{ id: run.id }} title={run.id}>
              {shortId(run.id)}
            </Link>
            <bdi className="clip">
              {visibleName(run.agentId)} <span className="t3">{visible(aboutRun(run))}</span>
            </bdi>
          </li>
        ))}
      </ul>
      <table className="tb flush">
        <thead>
          <tr>
            <th>
              <span className="vh">Run</span>
            </th>
            {FIGURES.map(({ name, wide }) => (
              <th key={name} className={wide ? 'r not-s' : 'r'}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {runs.map(([letter, run]) => (
            <tr key={letter}>
              <th scope="row">{letter}</th>
              {FIGURES.map(({ name, wide, of, show }) => (
                <td key={name} className={wide ? 'r num not-s' : 'r num'}>
                  {show(of(run))}
                </td>
              ))}
            </tr>
          ))}
          <tr>
            <th scope="row" className="nowrap">
              B − A
            </th>
            {FIGURES.map(({ name, wide, of, show }) => (
              <td key={name} className={wide ? 'r num not-s' : 'r num'}>
                <Difference value={of(b) - of(a)} show={show} />
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </div>
  );
}

/** `+1.2 s`, `−$0.04`. More is marked, because more cost, time and errors is worse. */
function Difference({ value, show }: { value: number; show: (value: number) => string }) {
  if (Math.abs(value) < 1e-9) return <span className="t3">0</span>;
  return <span className={value > 0 ? 'more' : 'less'}>{`${value > 0 ? '+' : '−'}${show(Math.abs(value))}`}</span>;
}

const tookOf = (step: Step | undefined) => (step?.endMs === undefined ? undefined : step.endMs - step.startMs);
const MEASURES = [
  { id: 'took', name: 'took', width: '76px', of: tookOf, show: duration },
  { id: 'cost', name: 'cost $', width: '76px', of: (step: Step | undefined) => step?.costUsd, show: moneyCell },
  { id: 'tokens', name: 'tokens', width: '76px', of: (step: Step | undefined) => step?.result?.tokens, show: count },
] as const;

const STATES: Readonly<Record<string, string>> = { failed: 'failed', blocked: 'blocked', waiting: 'waiting' };

/** The name of the step, and in which run it failed or does not exist. */
function StepName({ row: { a, b } }: { row: Row }) {
  const notes = [
    b === undefined ? 'only in A' : a === undefined ? 'only in B' : undefined,
    ...SIDES.map((side) => {
      const state = STATES[(side === 'a' ? a : b)?.state ?? ''];
      return state === undefined ? undefined : `${state} in ${side.toUpperCase()}`;
    }),
  ].filter((note) => note !== undefined);
  return (
    <>
      <bdi className="mono">{visibleName((a ?? b)?.name ?? '')}</bdi>
      {notes.length > 0 && <span className="note-in"> {notes.join(', ')}</span>}
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  { id: 'step', head: 'Step', width: 'minmax(140px, 1fr)', cell: (row) => <StepName row={row} /> },
  ...MEASURES.flatMap(({ id, name, width, of, show }): Column<Row>[] => [
    ...SIDES.map(
      (side): Column<Row> => ({
        id: `${side} ${id}`,
        head: `${side.toUpperCase()} ${name}`,
        width,
        right: true,
        cell: (row) => <Measure value={of(row[side])} show={show} />,
      }),
    ),
    {
      id: `difference ${id}`,
      head: 'B − A',
      width,
      right: true,
      cell: (row) => {
        const [before, after] = [of(row.a), of(row.b)];
        return before === undefined || after === undefined ? null : (
          <span className="num">
            <Difference value={after - before} show={show} />
          </span>
        );
      },
    },
  ]),
];

function Measure({ value, show }: { value: number | undefined; show: (value: number) => string }) {
  return value === undefined ? <span className="t3">—</span> : <span className="num">{show(value)}</span>;
}

function Narrow({ row }: { row: Row }) {
  return (
    <>
      <span className="clip">
        <StepName row={row} />
      </span>
      {SIDES.map((side) => (
        <span key={side} className="row t2 num">
          {side.toUpperCase()} <Measure value={tookOf(row[side])} show={duration} />
          <span className="ml">
            $ <Measure value={row[side]?.costUsd} show={moneyCell} />
          </span>
        </span>
      ))}
    </>
  );
}
