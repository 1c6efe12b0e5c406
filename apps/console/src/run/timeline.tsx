import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useMemo, useRef, useState, type WheelEvent } from 'react';
import type { RunDetail, TreeRun } from '../api/model.ts';
import { counted, duration } from '../figures/figures.ts';
import { useKeys } from '../shell/keys.ts';
import { useNowRead } from '../shell/nav.tsx';
import { useNow } from '../ui/moment.tsx';
import type { EventContents } from './event-contents.ts';
import { Minimap } from './minimap.tsx';
import { wantedInRow } from './payload-text.ts';
import { rowsOf } from './rows.ts';
import { scaleOf, type View, WHOLE } from './scale.ts';
import { type Step, storyOf } from './story.ts';
import { TimelineRow } from './timeline-row.tsx';
import { useVisibleEntries } from './use-event-contents.ts';
import { useTimeline } from './use-run.ts';

interface TimelineProps {
  readonly run: RunDetail;
  readonly steps: readonly Step[];
  readonly contents: EventContents;
  readonly tree: readonly TreeRun[];
  readonly truncated: boolean;
  readonly chosen: string | undefined;
  readonly closeGaps: boolean;
  readonly onChoose: (step: Step) => void;
}

const OVERSCAN = 12;

/** The timeline view: each step as a row with a bar. Only visible rows are rendered. */
export function Timeline({ run, steps, contents, tree, truncated, chosen, closeGaps, onChoose }: TimelineProps) {
  const box = useRef<HTMLDivElement>(null);
  const now = useNow();
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [children, setChildren] = useState<ReadonlyMap<string, readonly Step[]>>(new Map());
  const [view, setView] = useState<View>(WHOLE);
  const isOver = run.status !== 'running';
  const startMs = Math.min(Date.parse(run.startedAt), steps[0]?.startMs ?? Number.POSITIVE_INFINITY);
  const last = steps.reduce(
    (latest, step) => Math.max(latest, step.endMs ?? step.startMs),
    Date.parse(run.lastEventAt),
  );
  const endMs = Math.max(isOver ? last : Math.max(last, now), startMs + 1);
  const rows = useMemo(() => rowsOf(run, steps, tree, children, opened), [run, steps, tree, children, opened]);
  const spans = useMemo(
    () => steps.map((step) => ({ startMs: step.startMs, endMs: step.endMs ?? endMs })),
    [steps, endMs],
  );
  const scale = useMemo(
    () => scaleOf(spans, startMs, endMs, closeGaps, view),
    [spans, startMs, endMs, closeGaps, view],
  );
  const wholeScale = useMemo(() => scaleOf(spans, startMs, endMs, closeGaps), [spans, startMs, endMs, closeGaps]);
  const rowPx = useRowPx(box);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => rowPx,
    overscan: OVERSCAN,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new height must be measured
  useEffect(() => virtual.measure(), [rowPx, virtual]);

  const shown = virtual.getVirtualItems();
  useVisibleEntries(
    contents,
    shown.flatMap(({ index }) => {
      const same = rows[index]?.steps ?? [];
      const [last] = same.slice(-1);
      // Only the last of equal calls can have failed.
      return last === undefined || (same.length > 1 && last.state !== 'failed') ? [] : wantedInRow(last);
    }),
  );
  const waiting = useNowRead().data?.approvals;
  const until = (approvalId: string) => waiting?.find(({ id }) => id === approvalId)?.expiresAt;

  const zoom = (factor: number, around = 0.5) =>
    setView(({ from, to }) => {
      const width = Math.min(1, Math.max(0.002, (to - from) * factor));
      const middle = from + (to - from) * around;
      const begin = Math.max(0, Math.min(1 - width, middle - width * around));
      return { from: begin, to: begin + width };
    });
  useKeys({ '+': () => zoom(0.5), '-': () => zoom(2), 0: () => setView(WHOLE) });
  const onWheel = (event: WheelEvent) => {
    if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8);
  };

  const at = rows.findIndex((row) => row.steps.some(({ id }) => id === chosen));
  useEffect(() => {
    if (at >= 0) virtual.scrollToIndex(at, { align: 'auto' });
  }, [at, virtual]);
  const flip = (id: string, open?: boolean) =>
    setOpened((before) => {
      const isOpen = before.has(id);
      if (open === isOpen) return before;
      return isOpen ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]);
    });
  const move = (to: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, to))];
    const [step] = row?.steps ?? [];
    if (row === undefined) return;
    virtual.scrollToIndex(rows.indexOf(row));
    if (step !== undefined) onChoose(step);
    requestAnimationFrame(() => box.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(row.id)}"]`)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent, index: number) => {
    const row = rows[index];
    if (row === undefined) return;
    if (event.key === 'ArrowDown' || event.key === 'j') move(index + 1);
    else if (event.key === 'ArrowUp' || event.key === 'k') move(index - 1);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(rows.length - 1);
    else if (event.key === 'ArrowRight') flip(row.id, true);
    else if (event.key === 'ArrowLeft') flip(row.id, false);
    else if (event.key === '*') setOpened(new Set(rows.flatMap(({ id, canOpen }) => (canOpen ? [id] : []))));
    else if (event.key === 'Enter' && row.steps[0] !== undefined) onChoose(row.steps[0]);
    else return;
    event.preventDefault();
  };
  const onChildren: ChildSteps = (id, found) =>
    setChildren((before) => (before.get(id) === found ? before : new Map([...before, [id, found]])));
  return (
    <div
      ref={box}
      className="tree"
      role="treegrid"
      aria-label="Steps of the run"
      aria-busy={contents.state().busy}
      aria-rowcount={rows.length}
      onWheel={onWheel}
    >
      <ChildTimelines
        ids={rows.flatMap(({ childRun }) =>
          childRun === undefined || !opened.has(`run ${childRun.id}`) ? [] : [childRun.id],
        )}
        onSteps={onChildren}
      />
      <div className="tr ax" role="row">
        <span role="columnheader">
          {counted(steps.length, 'step')}
          {truncated && ', the first of more'}
        </span>
        <div className="axs" role="columnheader" aria-label="Time since the start">
          <Minimap steps={steps} endMs={endMs} at={wholeScale.at} view={view} />
          {scale.ticks.map((tick) => (
            <span key={tick.ms} style={{ left: `${tick.at * 100}%` }}>
              {tick.ms === 0 ? '0' : duration(tick.ms)}
            </span>
          ))}
          <span style={{ left: '100%' }}>{isOver ? 'end' : 'now'}</span>
        </div>
        <span role="columnheader" className="r">
          Took
        </span>
        <span role="columnheader" className="r">
          Cost $
        </span>
      </div>
      <div className="gapm" aria-hidden="true">
        {scale.cuts.map((cut) => (
          <i
            key={cut.from}
            style={{ left: `${cut.from * 100}%`, width: `${(cut.to - cut.from) * 100}%` }}
            title={`${duration(cut.cutMs)} idle`}
          />
        ))}
        {!isOver && <b className="nowl" />}
      </div>
      <div role="rowgroup" className="tr-body" style={{ height: `${virtual.getTotalSize()}px` }}>
        {shown.map((item) => {
          const row = rows[item.index];
          return row === undefined ? null : (
            <TimelineRow
              key={row.id}
              row={row}
              contents={contents}
              until={until}
              top={item.start}
              height={rowPx}
              scale={scale}
              endMs={endMs}
              isOver={isOver}
              chosen={row.steps.some(({ id }) => id === chosen)}
              focusable={at < 0 ? item.index === 0 : item.index === at}
              opened={opened.has(row.id)}
              onFlip={() => flip(row.id)}
              onChoose={onChoose}
              onKeyDown={(event) => onKeyDown(event, item.index)}
            />
          );
        })}
      </div>
    </div>
  );
}

function useRowPx(box: React.RefObject<HTMLElement | null>): number {
  const [px, setPx] = useState(26);
  useEffect(() => {
    if (box.current === null) return;
    const wanted = Number.parseInt(getComputedStyle(box.current).getPropertyValue('--row-tl'), 10);
    setPx(Number.isNaN(wanted) ? 26 : wanted);
  }, [box]);
  return px;
}

type ChildSteps = (id: string, steps: readonly Step[]) => void;

/** Reads the timelines of sub-runs that are expanded in place. */
function ChildTimelines({ ids, onSteps }: { ids: readonly string[]; onSteps: ChildSteps }) {
  return ids.map((id) => <ChildTimeline key={id} id={id} onSteps={onSteps} />);
}

function ChildTimeline({ id, onSteps }: { id: string; onSteps: ChildSteps }) {
  const { data } = useTimeline(id);
  const steps = useMemo(() => (data === undefined ? undefined : storyOf(data.entries, true)), [data]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: reported once per result
  useEffect(() => {
    if (steps !== undefined) onSteps(id, steps);
  }, [id, steps]);
  return null;
}
