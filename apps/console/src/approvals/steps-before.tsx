import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Alert } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { detailOf, isMessage, wantedInRow } from '../run/payload-text.ts';
import { storyOf } from '../run/story.ts';
import { useEventContents, useVisibleEntries } from '../run/use-event-contents.ts';
import { useTimeline } from '../run/use-run.ts';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';

const LED_HERE = 6;

/** Steps of the run before the call. */
export function StepsBefore({ alert }: { alert: Alert }) {
  const timeline = useTimeline(alert.runId ?? '');
  const asked = Date.parse(alert.createdAt) + 1000;
  const steps = useMemo(
    () =>
      storyOf(timeline.data?.entries ?? [], false)
        .filter(({ startMs, kind }) => startMs <= asked && kind !== 'trigger')
        .slice(-LED_HERE),
    [timeline.data, asked],
  );
  const contents = useEventContents();
  useVisibleEntries(contents, steps.flatMap(wantedInRow));
  return (
    <Section
      title="Steps before"
      link={
        alert.runId !== undefined && (
          <Link to="/runs/$id" params={{ id: alert.runId }}>
            Open run {shortId(alert.runId)}
          </Link>
        )
      }
    >
      <ol className="st0" aria-busy={contents.state().busy}>
        {steps.map((step) => {
          const waits = step.state === 'waiting';
          const said = isMessage(step, contents);
          return (
            <li key={step.id}>
              <span className="t3">
                <Moment at={new Date(step.startMs).toISOString()} />
              </span>
              <Icon
                name={waits ? 'v-ask' : said ? 'msg' : step.kind === 'model' ? 'model' : 'tool'}
                size={14}
                className={waits ? 'ic ask' : 't3'}
              />
              <span className="clip">
                <b>{said ? '' : visibleName(step.name)}</b>{' '}
                <bdi className="t2">{waits ? 'needs approval' : detailOf(step, contents)}</bdi>
              </span>
              {step.state === 'failed' ? <span className="tag bad">error</span> : <span />}
            </li>
          );
        })}
      </ol>
      {steps.length === 0 && <p className="hint topped">The run reported no step before this call.</p>}
    </Section>
  );
}
