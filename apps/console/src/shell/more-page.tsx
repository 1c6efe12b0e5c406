import { Link } from '@tanstack/react-router';
import { Icon } from '../ui/icon.tsx';
import { PAGES } from './nav.tsx';
import { Page } from './page.tsx';

/** All pages, for screens without a sidebar. */
export function MorePage() {
  const pages = [
    ...PAGES,
    'Set up',
    { to: '/connect', icon: 'plug', name: 'Connect' },
    { to: '/settings', icon: 'settings', name: 'Settings' },
    { to: '/you', icon: 'agents', name: 'You' },
  ];
  return (
    <Page name="more" title="More">
      <ul className="more-list">
        {pages.map((page) =>
          typeof page === 'string' ? (
            <li key={page} className="t3">
              {page}
            </li>
          ) : (
            <li key={page.to}>
              <Link to={page.to}>
                <Icon name={page.icon} />
                {page.name}
              </Link>
            </li>
          ),
        )}
      </ul>
    </Page>
  );
}
