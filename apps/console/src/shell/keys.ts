import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { live } from '../live-data/live-store.ts';
import { openHelp } from './help.tsx';
import { openPalette } from './palette.tsx';

export type Keys = Readonly<Record<string, (event: KeyboardEvent) => void>>;

/** True while a field has the focus or a dialog is open. */
function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (document.querySelector('[role="dialog"], [role="alertdialog"]') !== null) return true;
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Single keys of a page. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || event.defaultPrevented) return;
      const act = current.current[event.key];
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
}

const GO: Readonly<Record<string, string>> = {
  n: '/',
  r: '/runs',
  a: '/approvals',
  d: '/decisions',
  s: '/spend',
  l: '/live',
  g: '/guardrails',
};
const SECOND_MS = 1_200;

/** Keys that work on every page. */
export function useGlobalKeys(): void {
  const navigate = useNavigate();
  /** Time of the last `g`, by the page's clock. Not 0, because that clock starts with the page. */
  const pressedG = useRef<number | undefined>(undefined);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      const going = pressedG.current !== undefined && performance.now() - pressedG.current < SECOND_MS;
      if (going && GO[event.key] !== undefined) {
        pressedG.current = undefined;
        event.stopImmediatePropagation();
        event.preventDefault();
        void navigate({ to: GO[event.key] ?? '/' });
      } else if (event.key === 'g') pressedG.current = performance.now();
      else if (event.key === '?') openHelp();
      else if (event.key === 'y') void navigator.clipboard.writeText(location.href);
      else if (event.key === 'l') live.pause(live.snapshot().state !== 'paused');
      else if (event.key === '/') {
        const filter = document.querySelector<HTMLInputElement>('[data-filter]');
        if (filter === null) return;
        event.preventDefault();
        filter.focus();
      }
    };
    addEventListener('keydown', onKey, { capture: true });
    return () => removeEventListener('keydown', onKey, { capture: true });
  }, [navigate]);
}
