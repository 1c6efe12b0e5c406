import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { Page } from '../shell/page.tsx';

/** Pages of the settings, in order. */
const SECTIONS = [
  ['/settings', 'General'],
  ['/settings/people', 'People'],
  ['/settings/teams', 'Teams'],
  ['/settings/providers', 'Sign-in providers'],
  ['/settings/policies', 'Approval policies'],
  ['/settings/connections', 'Model connections'],
  ['/settings/log', 'Log'],
] as const;

/** A page of the settings with links to the others. */
export function SettingsFrame({ title, children }: { title: string; children: ReactNode }) {
  const crumbs = title === 'Settings' ? [] : [{ name: 'Settings', to: '/settings' }];
  const links = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a small screen, the link of this page may be outside.
    links.current?.querySelector(`[data-title="${title}"]`)?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [title]);
  return (
    <Page name="settings" title={title} crumbs={crumbs} time="Now">
      <nav className="tabs sub-tabs" aria-label="Settings" ref={links}>
        {SECTIONS.map(([to, name]) => (
          <Link
            key={to}
            to={to}
            data-title={name}
            activeOptions={{ exact: true }}
            activeProps={{ 'aria-current': 'page' }}
          >
            {name}
          </Link>
        ))}
      </nav>
      <div className="pad">{children}</div>
    </Page>
  );
}

/** In place of a page that only administrators see. */
export function NeedsAdmin({ what, why }: { what: string; why: string | undefined }) {
  return (
    <div className="empty">
      <h3>{what} are for administrators.</h3>
      <p>{why}.</p>
    </div>
  );
}
