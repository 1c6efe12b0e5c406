import { useParams } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import type { RunDetail } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useKeys } from '../shell/keys.ts';
import { Page } from '../shell/page.tsx';
import { Empty, Failed, Loading, Missing } from '../ui/faces.tsx';
import { FilterChip, FilterField } from '../ui/filters.tsx';
import { Icon } from '../ui/icon.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { Detail } from './detail.tsx';
import { Log } from './log.tsx';
import { RunHead } from './run-head.tsx';
import { RunPager } from './run-pager.tsx';
import { RunTree } from './run-tree.tsx';
import { isBlocked, isError, isProblem, isStop, STEP_FILTERS, useFilteredSteps } from './step-filter.ts';
import { type Step, storyOf } from './story.ts';
import { Timeline } from './timeline.tsx';
import { Transcript } from './transcript.tsx';
import { useEventContents } from './use-event-contents.ts';
import { useRunDetail, useRunLabels, useRunTree, useTimeline } from './use-run.ts';
import './run.css';

type Name = 'view' | 'step' | 'tab' | 'list' | 'gaps' | 'show' | 'q';
const VIEWS = ['timeline', 'transcript', 'log', 'tree'] as const;
const VIEW_NAMES = { timeline: 'Timeline', transcript: 'Transcript', log: 'Log', tree: 'Tree' };

export function RunPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const run = useRunDetail(id);
  // Read beside the run, not after it.
  useTimeline(id);
  useRunTree(id);
  useRunLabels(id);
  const name = run.data?.agentId ?? '';
  return (
    <Page
      name="run"
      title={shortId(id)}
      mono
      time={run.data === undefined ? 'Run' : 'Whole run'}
      crumbs={[
        { name: 'Runs', to: '/runs' },
        ...(name === '' ? [] : [{ name, to: `/agents/${encodeURIComponent(name)}` }]),
      ]}
      extra={<RunPager id={id} />}
      stop={run.data === undefined ? {} : { runs: [run.data] }}
    >
      {run.data !== undefined ? (
        <Loaded key={id} run={run.data} />
      ) : run.error === null ? (
        <Loading rows={18} />
      ) : problemOf(run.error).status === 404 ? (
        <Missing title="Run not found." list={{ name: 'All runs', to: '/runs' }}>
          Your tenant has no run with the id <bdi className="mono">{id}</bdi>.
        </Missing>
      ) : (
        <Failed what="This run" error={run.error} onRetry={() => void run.refetch()} />
      )}
    </Page>
  );
}

function Loaded({ run }: { run: RunDetail }) {
  const timeline = useTimeline(run.id);
  const tree = useRunTree(run.id);
  const contents = useEventContents();
  const { error: unread } = contents.state();
  const { search, change } = useListSearch<Name>();
  const isOver = run.status !== 'running';
  const steps = useMemo(() => storyOf(timeline.data?.entries ?? [], isOver), [timeline.data, isOver]);
  const [childStep, setChildStep] = useState<Step>();
  const chosen = steps.find(({ id }) => id === search.step) ?? (childStep?.id === search.step ? childStep : undefined);
  const view = VIEWS.find((one) => one === search.view) ?? 'timeline';
  const choose = useCallback(
    (step: Step) => {
      setChildStep(step);
      change({ step: step.id }, true);
    },
    [change],
  );
  const filtered = useFilteredSteps(run, steps, search.show, search.q);
  const isFiltered = filtered !== steps;
  const enforced = steps.some(({ decision }) => decision !== undefined);
  const jump = (wanted: (step: Step) => boolean) => {
    const at = filtered.findIndex(({ id }) => id === search.step);
    const next = [...filtered.slice(at + 1), ...filtered.slice(0, at + 1)].find(wanted);
    if (next !== undefined) choose(next);
  };
  const setView = (next: (typeof VIEWS)[number]) => change({ view: next === 'timeline' ? undefined : next });
  useKeys({
    b: () => jump(isBlocked),
    e: () => jump(isError),
    p: () => jump(isProblem),
    1: () => setView('timeline'),
    2: () => setView('transcript'),
    3: () => setView('log'),
    4: () => setView('tree'),
    c: () => change({ gaps: search.gaps === 'open' ? undefined : 'open' }),
  });
  const shown = chosen ?? filtered.find(isProblem) ?? filtered.findLast(isStop) ?? filtered[0] ?? steps[0];
  const problems = steps.filter(isProblem).length;
  return (
    <>
      <RunHead run={run} steps={steps} enforced={enforced} />
      <section className="tl" aria-label="Steps">
        <div className="bar0">
          <div className="seg" role="group" aria-label="View">
            {VIEWS.map((one) => (
              <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
                {VIEW_NAMES[one]}
              </button>
            ))}
          </div>
          {view !== 'tree' && (
            <>
              <FilterField label="Search this run" value={search.q ?? ''} onChange={(q) => change({ q }, true)} />
              <FilterChip
                name="Only"
                value={search.show}
                choices={STEP_FILTERS}
                onChange={(show) => change({ show, step: undefined })}
              />
            </>
          )}
          {isFiltered && <span className="t3 num">{counted(filtered.length, 'step')}</span>}
          <span className="sp not-s" />
          {view === 'timeline' && (
            <button
              type="button"
              className="chip not-s"
              aria-pressed={search.gaps !== 'open'}
              onClick={() => change({ gaps: search.gaps === 'open' ? undefined : 'open' })}
            >
              <Icon name="gap" size={12} />
              {search.gaps === 'open' ? 'Idle gaps open' : 'Idle gaps closed'}
            </button>
          )}
          {problems > 0 && (
            <button type="button" className="chip not-s" onClick={() => jump(isProblem)}>
              <span className="st block">
                <Icon name="v-block" size={14} />
              </span>
              Next problem <kbd>p</kbd>
            </button>
          )}
        </div>
        {unread !== null && (
          <p className="hint bad unread" role="alert">
            Step contents could not be loaded: {problemOf(unread).message}.{' '}
            <button type="button" className="b sm" onClick={() => contents.retry()}>
              Try again
            </button>
          </p>
        )}
        {view === 'tree' ? (
          <RunTree id={run.id} />
        ) : timeline.data === undefined ? (
          timeline.error === null ? (
            <Loading rows={14} />
          ) : (
            <Failed what="The timeline" error={timeline.error} onRetry={() => void timeline.refetch()} />
          )
        ) : view === 'timeline' ? (
          <Timeline
            run={run}
            steps={filtered}
            contents={contents}
            tree={tree.data?.runs ?? []}
            truncated={timeline.data.truncated}
            chosen={shown?.id}
            closeGaps={search.gaps !== 'open'}
            onChoose={choose}
          />
        ) : view === 'transcript' ? (
          <Transcript run={run} steps={filtered} contents={contents} chosen={shown?.id} onChoose={choose} />
        ) : (
          <Log entries={timeline.data.entries} contents={contents} />
        )}
      </section>
      <aside className="det" aria-label="Selected step">
        {shown === undefined ? (
          <Empty title="No steps yet.">Steps appear when the agent reports events.</Empty>
        ) : (
          <Detail key={shown.id} run={run} step={shown} tab={search.tab} onTab={(tab) => change({ tab }, true)} />
        )}
      </aside>
    </>
  );
}
