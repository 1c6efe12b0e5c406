import type { CSSProperties, KeyboardEvent } from 'react';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { countdown, counted, duration, moneyCell, shortId } from '../figures/figures.ts';
import { Icon } from '../ui/icon.tsx';
import { RunState, statusOf, VERDICTS, VerdictMark } from '../ui/marks.tsx';
import { platformNow } from '../ui/moment.tsx';
import type { EventContents } from './event-contents.ts';
import { detailOf, errorOf, isMessage } from './payload-text.ts';
import type { Row } from './rows.ts';
import type { Scale } from './scale.ts';
import { type Step, wouldHave } from './story.ts';

interface TimelineRowProps {
  readonly row: Row;
  readonly contents: EventContents;
  /** When the approval of a call expires. */
  readonly until: (approvalId: string) => string | undefined;
  readonly top: number;
  readonly height: number;
  readonly scale: Scale;
  readonly endMs: number;
  readonly isOver: boolean;
  readonly chosen: boolean;
  readonly focusable: boolean;
  readonly opened: boolean;
  readonly onFlip: () => void;
  readonly onChoose: (step: Step) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

const ICONS: Readonly<Record<Step['kind'], string>> = {
  model: 'model',
  tool: 'tool',
  message: 'msg',
  alert: 'alerts',
  order: 's-killed',
  breaker: 'breakers',
  trigger: 'rules',
  other: 'v-no',
};

export function TimelineRow({
  row,
  contents,
  until,
  top,
  height,
  scale,
  endMs,
  chosen,
  focusable,
  opened,
  onFlip,
  onChoose,
  onKeyDown,
}: TimelineRowProps) {
  const [first] = row.steps;
  const choose = () => (first === undefined ? row.canOpen && onFlip() : onChoose(first));
  return (
    <div
      role="row"
      data-row={row.id}
      className={`tr ${chosen ? 'sel' : ''}`}
      style={{ transform: `translateY(${top}px)`, height: `${height}px` }}
      aria-level={row.level + 1}
      {...(row.canOpen ? { 'aria-expanded': opened } : {})}
      aria-selected={chosen}
      tabIndex={focusable ? 0 : -1}
      onClick={choose}
      onKeyDown={onKeyDown}
    >
      <div role="gridcell" className="nm" style={{ '--l': row.level } as CSSProperties}>
        {row.canOpen ? (
          <button
            type="button"
            className="tw"
            tabIndex={-1}
            aria-label={opened ? 'Close' : 'Open'}
            onClick={(event) => {
              event.stopPropagation();
              onFlip();
            }}
          >
            <Icon name={opened ? 'down' : 'right'} size={12} />
          </button>
        ) : (
          <span className="tw" />
        )}
        <Name row={row} contents={contents} />
      </div>
      <div role="gridcell" className="bx">
        {row.run !== undefined ? (
          <Bracket run={row.run} scale={scale} endMs={endMs} />
        ) : (
          row.steps.map((step) => (
            <Bars
              key={step.id}
              step={step}
              scale={scale}
              endMs={endMs}
              word={row.steps.length === 1 || step === row.steps.at(-1) ? wordOf(step, contents, until) : undefined}
            />
          ))
        )}
      </div>
      <div role="gridcell" className={`r ${first?.state === 'blocked' ? 't3' : 't2'}`}>
        {tookOf(row, endMs)}
      </div>
      <div role="gridcell" className="r">
        {costOf(row)}
      </div>
    </div>
  );
}

function Name({ row, contents }: { row: Row; contents: EventContents }) {
  const { run, steps } = row;
  const [first] = steps;
  if (run !== undefined) {
    return (
      <>
        <Icon name={row.childRun === undefined ? 'run' : 'sub'} size={14} className="kd" />
        <span className="clip">
          <bdi>
            <b>{visibleName(run.agentId)}</b>
          </bdi>{' '}
          <span className="t3">{row.childRun === undefined ? '' : `sub-run ${shortId(run.id)}`}</span>
        </span>
        <span className="mk">
          <RunState status={statusOf(run)} />
        </span>
      </>
    );
  }
  if (first === undefined) return null;
  return (
    <>
      <Icon name={ICONS[isMessage(first, contents) ? 'message' : first.kind]} size={14} className="kd" />
      <span className="clip">
        <bdi>
          <b>{visibleName(first.name)}</b>
        </bdi>{' '}
        <bdi className="t3">{steps.length > 1 ? counted(steps.length, 'equal call') : detailOf(first, contents)}</bdi>
      </span>
      <span className="mk">
        <StepMark step={first} />
      </span>
    </>
  );
}

/** Result of a step as a mark beside its name. Success has none. */
function StepMark({ step }: { step: Step }) {
  if (step.state === 'waiting')
    return <VerdictMark mark={{ icon: 's-waiting', tone: 'waiting', word: 'Waits' }} wordless />;
  if (step.state === 'blocked')
    return (
      <VerdictMark
        mark={
          step.decision?.control === 'TERMINATE'
            ? VERDICTS.terminate
            : step.decision?.reason === 'approval'
              ? VERDICTS.ask
              : VERDICTS.block
        }
        wordless
      />
    );
  if (step.state === 'failed')
    return <VerdictMark mark={{ icon: 's-failed', tone: 'failed', word: 'Failed' }} wordless />;
  if (step.state === 'running')
    return <VerdictMark mark={{ icon: 's-running', tone: 'running', word: 'Running' }} wordless />;
  if (wouldHave(step)) return <VerdictMark mark={VERDICTS.shadow} wordless />;
  return null;
}

function Bracket({ run, scale, endMs }: { run: NonNullable<Row['run']>; scale: Scale; endMs: number }) {
  const isOver = run.status !== 'running';
  const [from, to] = [
    scale.at(Date.parse(run.startedAt)),
    scale.at(isOver ? Date.parse(run.endedAt ?? run.lastEventAt) : endMs),
  ];
  return (
    <i
      className={`bar frame ${isOver ? '' : 'pend'}`}
      style={{ left: `${from * 100}%`, width: `${Math.max(0.4, (to - from) * 100)}%` }}
    />
  );
}

interface Word {
  readonly text: string;
  readonly tone: string;
}

function Bars({ step, scale, endMs, word }: { step: Step; scale: Scale; endMs: number; word: Word | undefined }) {
  const from = scale.at(step.startMs) * 100;
  const to = scale.at(step.endMs ?? endMs) * 100;
  if (from > 100 || to < 0) return null;
  const place = { left: `${from}%`, width: `${Math.max(0.4, to - from)}%` };
  return (
    <>
      {step.state === 'point' ? (
        <i className="bar pt" style={{ left: `${from}%` }} />
      ) : step.state === 'blocked' ? (
        <i className="bar stub" style={{ left: `${from}%` }} />
      ) : step.state === 'waiting' ? (
        <i className="bar wait pend" style={place} />
      ) : (
        <i
          className={`bar ${step.state === 'failed' ? 'er' : step.kind === 'model' ? 'mo' : 'to'} ${step.state === 'running' ? 'pend' : ''}`}
          style={place}
        />
      )}
      {step.decision !== undefined && <span className={`gate ${gateOf(step)}`} style={{ left: `${from}%` }} />}
      {word !== undefined && (
        <span
          className={`wd ${word.tone}`}
          style={
            to > 72
              ? { right: `${100 - from}%`, maxWidth: `${from}%` }
              : { left: `${Math.max(from, to)}%`, maxWidth: `${100 - Math.max(from, to)}%` }
          }
        >
          {word.text}
        </span>
      )}
    </>
  );
}

function gateOf(step: Step): string {
  if (step.state === 'waiting' || step.decision?.reason === 'approval') return 'ask';
  if (step.decision?.verdict === 'BLOCK') return 'block';
  return wouldHave(step) ? 'shadow-v' : 'allow';
}

function wordOf(step: Step, contents: EventContents, until: TimelineRowProps['until']): Word | undefined {
  const waits = step.approval === undefined ? undefined : until(step.approval.id);
  if (step.state === 'blocked') {
    if (step.approval?.status === 'denied') return { text: 'denied', tone: 'block' };
    if (step.approval?.status === 'expired') return { text: 'expired', tone: 'block' };
    return { text: step.decision?.control === 'TERMINATE' ? 'Run ended' : 'Blocked', tone: 'block' };
  }
  if (step.state === 'waiting')
    return {
      text: waits === undefined ? 'waits' : `${countdown(Date.parse(waits) - platformNow())} left`,
      tone: 'ask',
    };
  if (step.state === 'failed') return { text: errorOf(step, contents), tone: 'failed' };
  if (wouldHave(step)) return { text: 'would block', tone: 'shadow-v' };
  return undefined;
}

function tookOf({ run, steps }: Row, endMs: number): string {
  if (run !== undefined) return duration(run.status === 'running' ? endMs - Date.parse(run.startedAt) : run.durationMs);
  const [first] = steps;
  if (first === undefined || first.state === 'point') return '';
  if (first.state === 'blocked') return 'not run';
  if (first.state === 'waiting') return `waits ${countdown(endMs - first.startMs)}`;
  return duration(steps.reduce((sum, step) => sum + (step.endMs ?? endMs) - step.startMs, 0));
}

function costOf({ run, steps }: Row): string {
  if (run !== undefined) return run.totals.costUsd === 0 ? '' : moneyCell(run.totals.costUsd);
  const costs = steps.flatMap(({ costUsd }) => costUsd ?? []);
  return costs.length === 0 ? '' : moneyCell(costs.reduce((sum, cost) => sum + cost, 0));
}
