import { Link, useParams } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import type { RunDetail } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { shortId } from '../figures/figures.ts';
import { useKeys } from '../shell/keys.ts';
import { Page } from '../shell/page.tsx';
import { Empty, Failed, Loading } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { Detail } from './detail.tsx';
import { Log } from './log.tsx';
import { RunHead } from './run-head.tsx';
import { type Step, storyOf } from './story.ts';
import { Timeline } from './timeline.tsx';
import { Transcript } from './transcript.tsx';
import { useRunDetail, useRunTree, useTimeline } from './use-run.ts';
import { useWords } from './use-words.ts';
import { Walk } from './walk.tsx';
import './run.css';

type Name = 'view' | 'step' | 'tab' | 'list' | 'gaps';
const VIEWS = ['timeline', 'transcript', 'log'] as const;
const VIEW_NAMES = { timeline: 'Timeline', transcript: 'Transcript', log: 'Log' };

export function RunPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const run = useRunDetail(id);
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
      extra={<Walk id={id} />}
      stop={run.data === undefined ? {} : { runs: [run.data] }}
    >
      {run.data !== undefined ? (
        <Loaded key={id} run={run.data} />
      ) : run.error === null ? (
        <Loading rows={18} />
      ) : problemOf(run.error).status === 404 ? (
        <div className="pad">
          <Empty
            title="Run not found."
            act={
              <Link className="b" to="/runs">
                All runs
              </Link>
            }
          >
            No run of your tenant has the id <bdi className="mono">{id}</bdi>.
          </Empty>
        </div>
      ) : (
        <Failed what="This run" error={run.error} onRetry={() => void run.refetch()} />
      )}
    </Page>
  );
}

function Loaded({ run }: { run: RunDetail }) {
  const timeline = useTimeline(run.id);
  const tree = useRunTree(run.id);
  const words = useWords();
  const { error: unread } = words.state();
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
  const jump = (wanted: (step: Step) => boolean) => {
    const at = steps.findIndex(({ id }) => id === search.step);
    const next = [...steps.slice(at + 1), ...steps.slice(0, at + 1)].find(wanted);
    if (next !== undefined) choose(next);
  };
  const setView = (next: (typeof VIEWS)[number]) => change({ view: next === 'timeline' ? undefined : next });
  useKeys({
    b: () => jump(({ state }) => state === 'blocked' || state === 'waiting'),
    e: () => jump(({ state }) => state === 'failed'),
    1: () => setView('timeline'),
    2: () => setView('transcript'),
    3: () => setView('log'),
    c: () => change({ gaps: search.gaps === 'open' ? undefined : 'open' }),
  });
  const shown =
    chosen ??
    steps.findLast(({ state }) => state === 'blocked' || state === 'waiting' || state === 'failed') ??
    steps[0];
  return (
    <>
      <RunHead run={run} steps={steps} />
      <section className="tl" aria-label="What happened">
        <div className="bar0">
          <div className="seg" role="group" aria-label="View">
            {VIEWS.map((one) => (
              <button key={one} type="button" aria-pressed={view === one} onClick={() => setView(one)}>
                {VIEW_NAMES[one]}
              </button>
            ))}
          </div>
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
          <button
            type="button"
            className="chip not-s"
            onClick={() => jump(({ state }) => state === 'blocked' || state === 'waiting')}
          >
            <span className="st block">
              <Icon name="v-block" size={14} />
            </span>
            Next blocked <kbd>b</kbd>
          </button>
        </div>
        {unread !== null && (
          <p className="hint bad unread" role="alert">
            What the steps say could not be read: {problemOf(unread).message}.{' '}
            <button type="button" className="b sm" onClick={() => words.retry()}>
              Try again
            </button>
          </p>
        )}
        {timeline.data === undefined ? (
          timeline.error === null ? (
            <Loading rows={14} />
          ) : (
            <Failed what="What happened in this run" error={timeline.error} onRetry={() => void timeline.refetch()} />
          )
        ) : view === 'timeline' ? (
          <Timeline
            run={run}
            steps={steps}
            words={words}
            tree={tree.data?.runs ?? []}
            truncated={timeline.data.truncated}
            chosen={shown?.id}
            closeGaps={search.gaps !== 'open'}
            onChoose={choose}
          />
        ) : view === 'transcript' ? (
          <Transcript run={run} steps={steps} words={words} chosen={shown?.id} onChoose={choose} />
        ) : (
          <Log entries={timeline.data.entries} words={words} />
        )}
      </section>
      <aside className="det" aria-label="Selected step">
        {shown === undefined ? (
          <Empty title="Nothing happened yet.">A step appears here when the agent reports one.</Empty>
        ) : (
          <Detail key={shown.id} run={run} step={shown} tab={search.tab} onTab={(tab) => change({ tab }, true)} />
        )}
      </aside>
    </>
  );
}
