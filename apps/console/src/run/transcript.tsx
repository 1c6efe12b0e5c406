import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { RunDetail } from '../api/model.ts';
import { duration } from '../figures/figures.ts';
import { actorOf } from '../runs/run-task.ts';
import { VERDICTS, VerdictMark } from '../ui/marks.tsx';
import type { EventContents } from './event-contents.ts';
import { detailOf, isMessage, textOf, wantedInRow } from './payload-text.ts';
import type { Step } from './story.ts';
import { useVisibleEntries } from './use-event-contents.ts';

interface TranscriptProps {
  readonly run: RunDetail;
  readonly steps: readonly Step[];
  readonly contents: EventContents;
  readonly chosen: string | undefined;
  readonly onChoose: (step: Step) => void;
}

const LINE_PX = 40;

/** The transcript view: messages in full, calls as one line each. */
export function Transcript({ run, steps, contents, chosen, onChoose }: TranscriptProps) {
  const box = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: steps.length,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  useVisibleEntries(
    contents,
    shown.flatMap(({ index }) => {
      const step = steps[index];
      if (step === undefined) return [];
      return step.kind === 'model' ? (step.result ?? []) : wantedInRow(step);
    }),
  );
  return (
    // A scrolling region must be focusable.
    <div
      ref={box}
      className="tree tx"
      role="region"
      aria-label="Transcript"
      tabIndex={0}
      aria-busy={contents.state().busy}
    >
      <ol style={{ height: `${virtual.getTotalSize()}px`, position: 'relative' }}>
        {shown.map((item) => {
          const step = steps[item.index];
          if (step === undefined) return null;
          return (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline has the keyboard controls
            <li
              key={step.id}
              ref={virtual.measureElement}
              data-index={item.index}
              className={`${step.kind === 'message' || step.kind === 'model' ? '' : 'c'} ${step.id === chosen ? 'sel' : ''}`}
              style={{ transform: `translateY(${item.start}px)` }}
              onClick={() => onChoose(step)}
            >
              <span className="t3 num">{duration(step.startMs - Date.parse(run.startedAt))}</span>
              <Message run={run} step={step} contents={contents} />
            </li>
          );
        })}
      </ol>
    </div>
  );
}

function Message({ run, step, contents }: { run: RunDetail; step: Step; contents: EventContents }) {
  const detail = detailOf(step, contents);
  if (isMessage(step, contents)) {
    return (
      <>
        <b className="clip">{visibleName(actorOf(run) ?? run.agentId)}</b>
        <p className="plain">{detail || <span className="t3">…</span>}</p>
      </>
    );
  }
  if (step.kind === 'model') {
    const answer = contents.of(step.result);
    return (
      <>
        <b className="clip">{visibleName(step.name)}</b>
        <p className="plain">
          {answer === undefined ? (
            <span className="t3">…</span>
          ) : (
            visible(textOf(answer.payload)) || <span className="t3">no text</span>
          )}
        </p>
      </>
    );
  }
  const mark =
    step.state === 'blocked'
      ? VERDICTS.block
      : step.state === 'waiting'
        ? VERDICTS.ask
        : step.state === 'failed'
          ? { icon: 's-failed', tone: 'failed', word: 'Failed' }
          : step.kind === 'tool'
            ? VERDICTS.allow
            : VERDICTS.no;
  return (
    <>
      <VerdictMark mark={mark} wordless />
      <p className="clip">
        <span className="mono">
          {visibleName(step.name)}
          {step.kind === 'tool' && `(${detail})`}
        </span>{' '}
        {step.kind !== 'tool' && <span className="t3">{detail}</span>}
        {step.state === 'blocked' && <span className="bad plain">{visible(step.decision?.message ?? '')}</span>}
        {step.state === 'waiting' && <span className="warn">needs approval</span>}
        {step.endMs !== undefined && step.endMs > step.startMs && (
          <span className="t3"> {duration(step.endMs - step.startMs)}</span>
        )}
      </p>
    </>
  );
}
