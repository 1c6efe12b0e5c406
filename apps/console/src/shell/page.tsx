import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { age } from '../figures/figures.ts';
import { live, useLive } from '../live-data/live-store.ts';
import { RANGES, type Range, rangeName } from '../time/range.ts';
import { offset } from '../time/zone.ts';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import { useFlash } from '../ui/moment.tsx';
import { openHelp } from './help.tsx';
import { openPalette } from './palette.tsx';
import { openStop, type StopTarget } from './stop.tsx';

interface Crumb {
  readonly name: string;
  readonly to: string;
}

interface PageProps {
  /** Class of the page's styles: `p-runs`. */
  readonly name: string;
  readonly title: string;
  readonly mono?: boolean;
  readonly crumbs?: readonly Crumb[];
  /** Text of the time chip on pages without a range. */
  readonly time?: string;
  readonly range?: { readonly value: Range; readonly set: (range: string) => void };
  /** In the top bar, before the live dot. */
  readonly extra?: ReactNode;
  /** Preselection for the Stop dialog. */
  readonly stop?: StopTarget;
  readonly children: ReactNode;
}

/** Top bar and content of a page. */
export function Page({ name, title, mono = false, crumbs = [], time, range, extra, stop, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · AgentLens`;
  }, [title]);
  return (
    <>
      <header className="top">
        <ol className="crumbs">
          {crumbs.map((crumb) => (
            <li key={crumb.to} className="not-s">
              <Link to={crumb.to}>{crumb.name}</Link>
            </li>
          ))}
          <li>
            <h1 className={mono ? 'mono' : ''}>{title}</h1>
          </li>
        </ol>
        {extra}
        <button type="button" className="b quiet ico only-s" aria-label="Search" onClick={openPalette}>
          <Icon name="search" />
        </button>
        <LiveDot />
        {range === undefined ? <FixedTime text={time ?? 'Now'} /> : <RangeChip {...range} />}
        <CopyLink />
        <button
          type="button"
          className="b quiet ico not-s"
          aria-label="Help and keys"
          title="Help and keys (?)"
          onClick={openHelp}
        >
          <Icon name="help" />
        </button>
        <button
          type="button"
          className="b stop"
          title="Pause or kill a run, an agent, or everything"
          onClick={() => openStop(stop)}
        >
          <Icon name="s-killed" size={14} />
          Stop…
        </button>
      </header>
      <main className={`main p-${name}`} id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

const WORDS = {
  connecting: 'Connecting',
  live: 'Live',
  reconnecting: 'Reconnecting',
  stale: 'Stale',
  paused: 'Paused',
  refused: 'Signed out',
};
const DOTS = { connecting: 're', live: '', reconnecting: 're', stale: 'stale', paused: 'off', refused: 'stale' };

function LiveDot() {
  const { state, since, gaps } = useLive();
  const old = state === 'stale' ? `, ${age(Date.now() - since)} old` : '';
  const title = `${gaps === 0 ? 'No gaps' : `${gaps} gaps, each refetched`}. Press to ${state === 'paused' ? 'resume' : 'pause'}.`;
  return (
    <button type="button" className="live" title={title} onClick={() => live.pause(state !== 'paused')}>
      <span className={`dot ${DOTS[state]}`} />
      {WORDS[state]}
      {old}
    </button>
  );
}

function FixedTime({ text }: { text: string }) {
  return (
    <span className="chip not-s" title="Time zone of this page">
      <Icon name="clock" size={12} />
      <b>{text}</b> {offset()}
    </span>
  );
}

function RangeChip({ value, set }: { value: Range; set: (range: string) => void }) {
  const choices = RANGES.map((range) => ({ id: range, name: rangeName({ range }) }));
  // The accessible name contains the visible text.
  const label = `Time range: ${rangeName(value)} ${offset()}`;
  return (
    <Menu label={label} className="chip not-s" choices={choices} onChoose={set} selected={value.range ?? ''}>
      <Icon name="clock" size={12} />
      <b>{rangeName(value)}</b> {offset()}
    </Menu>
  );
}

function CopyLink() {
  const [done, flash] = useFlash();
  return (
    <button
      type="button"
      className="b quiet ico not-s"
      aria-label={done ? 'Link copied' : 'Copy link'}
      title="Copy link (y)"
      onClick={() => void navigator.clipboard.writeText(location.href).then(flash)}
    >
      <Icon name={done ? 'check' : 'link'} />
    </button>
  );
}
