import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect, useSyncExternalStore } from 'react';
import { live } from '../live-data/live-store.ts';
import { Sprite } from '../ui/icon.tsx';
import { Toasts } from '../ui/toast.tsx';
import { Help } from './help.tsx';
import { useGlobalKeys } from './keys.ts';
import { Nav, TabBar } from './nav.tsx';
import { openPalette, Palette } from './palette.tsx';
import { StopDialog } from './stop.tsx';

/** Wide pages, on which the sidebar collapses. */
const WIDE = /^\/(runs\/.+|guardrails\/.+)/;
const narrow = matchMedia('(max-width: 1100px)');

/** Frame of every page: sidebar, dialogs and toasts. */
export function Shell() {
  const queries = useQueryClient();
  useEffect(() => live.start(queries), [queries]);
  useGlobalKeys();
  const { pathname } = useLocation();
  const isNarrow = useSyncExternalStore(
    (listener) => {
      narrow.addEventListener('change', listener);
      return () => narrow.removeEventListener('change', listener);
    },
    () => narrow.matches,
  );
  return (
    <>
      <a
        className="skip"
        href={`${pathname}#main`}
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('main')?.focus();
        }}
      >
        Skip to content
      </a>
      <div className="app" data-rail={isNarrow || WIDE.test(pathname) || undefined}>
        <Nav onSearch={openPalette} />
        <Outlet />
        <TabBar />
      </div>
      <StopDialog />
      <Palette />
      <Help />
      <Toasts />
      <Sprite />
    </>
  );
}
