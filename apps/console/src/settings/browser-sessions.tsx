import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { Read } from '../ui/faces.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { useChange } from '../ui/use-change.ts';

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, 'Edge'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
];

/** `Firefox on Linux`, or what the browser sent. */
export function browserName(userAgent: string): string {
  const browser = BROWSERS.find(([mark]) => mark.test(userAgent))?.[1];
  const system = SYSTEMS.find(([mark]) => mark.test(userAgent))?.[1];
  if (browser === undefined) return userAgent === '' ? 'Unknown browser' : visible(userAgent.slice(0, 60));
  return system === undefined ? browser : `${browser} on ${system}`;
}

/** Browsers that are signed in, each with a button that ends its session. */
export function BrowserSessions() {
  const sessions = useRead(['sessions'], (signal) => client.listBrowserSessions({ signal }));
  const run = useChange('sessions', 'The session was not ended');
  return (
    <Section title="Signed-in browsers">
      <Read read={sessions} what="Sessions" rows={2}>
        {(data) => (
          <table className="tb flush">
            <thead>
              <tr>
                <th>Browser</th>
                <th>Key</th>
                <th className="r not-s">Signed in</th>
                <th className="r not-s">Until</th>
                <th />
              </tr>
            </thead>
            <tbody>
              {data.sessions.map((session) => (
                <tr key={session.id}>
                  <td title={visible(session.userAgent)}>
                    {browserName(session.userAgent)}{' '}
                    {session.isCurrent && <span className="tag good">this browser</span>}
                  </td>
                  <td className="t2">{visibleName(session.keyName)}</td>
                  <td className="r t3 not-s">
                    <Moment at={session.createdAt} short />
                  </td>
                  <td className="r t3 not-s">
                    <Moment at={session.expiresAt} short />
                  </td>
                  <td className="act">
                    {!session.isCurrent && (
                      <button
                        type="button"
                        className="b sm"
                        onClick={() =>
                          void run('Session ended', () => client.endBrowserSession({ params: { id: session.id } }))
                        }
                      >
                        End session
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Read>
    </Section>
  );
}
