import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Alert } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { detailOf, wantedInRow } from '../run/said.ts';
import { storyOf } from '../run/story.ts';
import { useTimeline } from '../run/use-run.ts';
import { useWanted, useWords } from '../run/use-words.ts';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';

const LED_HERE = 6;

/** The steps of the run before it asked. */
export function LedHere({ alert }: { alert: Alert }) {
  const timeline = useTimeline(alert.runId ?? '');
  const asked = Date.parse(alert.createdAt) + 1000;
  const steps = useMemo(
    () =>
      storyOf(timeline.data?.entries ?? [], false)
        .filter(({ startMs, kind }) => startMs <= asked && kind !== 'trigger')
        .slice(-LED_HERE),
    [timeline.data, asked],
  );
  const words = useWords();
  useWanted(words, steps.flatMap(wantedInRow));
  return (
    <Section
      title="What led here"
      link={
        alert.runId !== undefined && (
          <Link to="/runs/$id" params={{ id: alert.runId }}>
            Open run {shortId(alert.runId)}
          </Link>
        )
      }
    >
      <ol className="st0">
        {steps.map((step) => (
          <li key={step.id}>
            <span className="t3">
              <Moment at={new Date(step.startMs).toISOString()} />
            </span>
            <Icon
              name={
                step.state === 'waiting'
                  ? 'v-ask'
                  : step.kind === 'model'
                    ? 'model'
                    : step.kind === 'message'
                      ? 'msg'
                      : 'tool'
              }
              size={14}
              className={step.state === 'waiting' ? 'ic ask' : 't3'}
            />
            <span className="clip">
              <b>{step.kind === 'message' ? '' : step.name}</b>{' '}
              <bdi className="t2">{step.state === 'waiting' ? 'waits for you' : detailOf(step, words)}</bdi>
            </span>
            {step.state === 'failed' ? <span className="tag bad">error</span> : <span />}
          </li>
        ))}
      </ol>
      {steps.length === 0 && <p className="hint topped">The run told nothing before it asked.</p>}
    </Section>
  );
}
