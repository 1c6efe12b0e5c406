import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useCallback, useMemo, useState } from 'react';
import { client } from '../api/client.ts';
import type { RunDetail } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { runQuery } from '../runs/run-filter.ts';
import { actorOf, taskOf } from '../runs/run-words.ts';
import { useKeys } from '../shell/keys.ts';
import { Page } from '../shell/page.tsx';
import { openStop } from '../shell/stop.tsx';
import { parseSearch } from '../url/search.ts';
import { Act } from '../ui/act.tsx';
import { Empty, Failed, Loading } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { RunState, statusOf } from '../ui/marks.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { Detail } from './detail.tsx';
import { Log } from './log.tsx';
import { Meters } from './meters.tsx';
import { storyOf, type Step } from './story.ts';
import { Timeline } from './timeline.tsx';
import { Transcript } from './transcript.tsx';
import { useRunDetail, useRunTree, useTimeline } from './use-run.ts';
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
      <Head run={run} steps={steps} />
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
            tree={tree.data?.runs ?? []}
            truncated={timeline.data.truncated}
            chosen={shown?.id}
            closeGaps={search.gaps !== 'open'}
            onChoose={choose}
          />
        ) : view === 'transcript' ? (
          <Transcript run={run} steps={steps} chosen={shown?.id} onChoose={choose} />
        ) : (
          <Log entries={timeline.data.entries} />
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

function Head({ run, steps }: { run: RunDetail; steps: readonly Step[] }) {
  const count = (state: Step['state']) => steps.filter((step) => step.state === state).length;
  const [blocked, waits] = [count('blocked'), count('waiting')];
  const shadow = steps.filter(
    ({ decision }) =>
      decision?.verdict === 'ALLOW' && decision.evaluatedRules.some((rule) => rule.violated && rule.mode === 'shadow'),
  ).length;
  const actor = actorOf(run);
  return (
    <div className="hd">
      <div className="who">
        <bdi className="ttl clip">{run.agentId}</bdi>
        <RunState status={statusOf(run)} fill />
        {taskOf(run) !== '' && (
          <span className="not-s clip">
            for <b>{taskOf(run)}</b>
          </span>
        )}
        {actor !== undefined && (
          <span>
            asked by{' '}
            <Link to="/runs" search={{ actor }}>
              <b>{actor}</b>
            </Link>
          </span>
        )}
        {run.sessionId !== undefined && (
          <span className="not-s">
            session{' '}
            <Link to="/runs" search={{ session: run.sessionId }}>
              <b>{run.sessionId}</b>
            </Link>
          </span>
        )}
        {run.parentRunId !== undefined && (
          <Link className="tag acc" to="/runs/$id" params={{ id: run.parentRunId }}>
            part of {shortId(run.parentRunId)}
          </Link>
        )}
        {blocked > 0 && <span className="tag bad">{blocked} blocked</span>}
        {waits > 0 && (
          <Link className="tag warn" to="/approvals">
            {waits} {waits === 1 ? 'waits' : 'wait'}
          </Link>
        )}
        {shadow > 0 && <span className="tag ghost not-s">{counted(shadow, 'shadow hit')}</span>}
      </div>
      <div className="btns cb">
        {run.status === 'running' ? (
          <Act scope="admin" onPress={() => openStop({ runs: [run], state: 'paused' })}>
            <Icon name="pause" size={14} />
            Pause…
          </Act>
        ) : null}
        <Act scope="admin" onPress={() => openStop({ runs: [run], state: 'running' })} kind="more">
          <Icon name="play" size={14} />
          Resume…
        </Act>
        <Act scope="admin" kind="danger" onPress={() => openStop({ runs: [run], state: 'killed' })}>
          <Icon name="s-killed" size={14} />
          Kill…
        </Act>
      </div>
      <Meters run={run} />
    </div>
  );
}

/** Previous and next run of the list this one was opened from. */
function Walk({ id }: { id: string }) {
  const { search } = useListSearch<Name>();
  const navigate = useNavigate();
  const from = search.list;
  const list = useRead(
    ['runs', 'walk', from],
    (signal) => client.listRuns({ query: { ...runQuery(parseSearch(from ?? '')), limit: 200 }, signal }),
    from !== undefined,
  );
  const runs = list.data?.runs ?? [];
  const at = runs.findIndex((run) => run.id === id);
  const go = (by: number) => {
    const next = runs[at + by];
    if (at >= 0 && next !== undefined)
      void navigate({ to: '/runs/$id', params: { id: next.id }, search: { list: from } as never });
  };
  useKeys({ '[': () => go(-1), ']': () => go(1) });
  if (from === undefined || at < 0) return null;
  return (
    <span className="row not-s">
      <span className="t3 num nowrap">
        {at + 1} of {runs.length}
      </span>
      <button
        type="button"
        className="b quiet ico"
        aria-label="Previous run ([)"
        disabled={at === 0}
        onClick={() => go(-1)}
      >
        <Icon name="up" />
      </button>
      <button
        type="button"
        className="b quiet ico"
        aria-label="Next run (])"
        disabled={at === runs.length - 1}
        onClick={() => go(1)}
      >
        <Icon name="dn" />
      </button>
    </span>
  );
}
