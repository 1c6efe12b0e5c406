import { useEffect, useState, useSyncExternalStore } from 'react';
import { age, countdown } from '../figures/figures.ts';
import { clock, offset, shortClock } from '../time/zone.ts';

/** Difference of the platform's clock to this one, ms. */
let skew = 0;

/** Called with the time of a heartbeat. */
export function platformClock(nowIso: string): void {
  skew = Date.parse(nowIso) - Date.now();
}

export function platformNow(): number {
  return Date.now() + skew;
}

const listeners = new Set<() => void>();
let second = Math.floor(Date.now() / 1000);
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    second = Math.floor(platformNow() / 1000);
    for (const one of listeners) one();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The platform's time in whole seconds, from one shared timer. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => second) * 1000;
}

/** An instant in the page's zone, with UTC and age on hover. */
export function Moment({ at, short = false, ms = false }: { at: string; short?: boolean; ms?: boolean }) {
  const title = `${clock(at, true)} ${offset(Date.parse(at))}\n${at}\n${age(platformNow() - Date.parse(at))} ago`;
  return (
    <time dateTime={at} title={title} className="num">
      {short ? shortClock(at) : clock(at, ms)}
    </time>
  );
}

/** `3 min ago`, updated every second. */
export function Ago({ at, bare = false }: { at: string; bare?: boolean }) {
  const now = useNow();
  const text = age(now - Date.parse(at));
  return (
    <time dateTime={at} title={`${clock(at)} ${offset(Date.parse(at))}`} className="num">
      {bare ? text : `${text} ago`}
    </time>
  );
}

export const URGENT_MS = 120_000;

export function Countdown({ until }: { until: string }) {
  const left = Date.parse(until) - useNow();
  return <b className={`num ${left <= URGENT_MS ? 'bad' : ''}`}>{left <= 0 ? 'expired' : countdown(left)}</b>;
}

/** True for a moment after it is set. */
export function useFlash(ms = 1500): [boolean, () => void] {
  const [on, setOn] = useState(false);
  useEffect(() => {
    if (!on) return;
    const timeout = setTimeout(() => setOn(false), ms);
    return () => clearTimeout(timeout);
  }, [on, ms]);
  return [on, () => setOn(true)];
}
