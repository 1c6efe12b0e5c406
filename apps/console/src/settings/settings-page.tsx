import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useMay, useMe } from '../shell/me.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { applyLook, store, stored } from '../ui/stored.ts';
import { BrowserSessions } from './browser-sessions.tsx';
import { Keys } from './keys.tsx';
import { SettingsFrame } from './settings-frame.tsx';
import { TenantSettings } from './tenant-settings.tsx';
import { Tenants } from './tenants.tsx';
import { Webhooks } from './webhooks.tsx';

export function SettingsPage() {
  const me = useMe();
  const { may } = useMay('admin');
  return (
    <SettingsFrame title="Settings">
      <Section first title="Signed in">
        <Facts
          facts={[
            ['Tenant', me.tenantId],
            ['As', me.person?.name ?? me.keyName],
          ]}
        />
        <p className="topped">
          <Link className="link" to="/you">
            Your roles, personal keys and sign-out
          </Link>
        </p>
      </Section>
      <BrowserSessions />
      <Look />
      <TenantSettings />
      {may ? (
        <>
          <Keys />
          <Webhooks />
        </>
      ) : (
        <Section title="API keys, webhooks">
          <p className="hint topped">Keys and webhooks need a key with the scope admin.</p>
        </Section>
      )}
      <Tenants />
    </SettingsFrame>
  );
}

const THEMES = [
  ['', 'System'],
  ['light', 'Light'],
  ['dark', 'Dark'],
] as const;

/** Stored in this browser only. */
function Look() {
  const [theme, setTheme] = useState(stored('theme'));
  const [density, setDensity] = useState(stored('density'));
  const [zone, setZone] = useState(stored('zone'));
  const local = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Section title="Look" note="this browser">
      <div className="row wrap topped">
        <div className="seg" role="group" aria-label="Theme">
          {THEMES.map(([id, name]) => (
            <button
              key={id}
              type="button"
              aria-pressed={theme === id}
              onClick={() => {
                store('theme', id);
                setTheme(id);
                applyLook();
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <div className="seg" role="group" aria-label="Density">
          {[
            ['', 'Compact'],
            ['comfortable', 'Comfortable'],
          ].map(([id = '', name]) => (
            <button
              key={id}
              type="button"
              aria-pressed={density === id}
              onClick={() => {
                store('density', id);
                setDensity(id);
                applyLook();
              }}
            >
              {name}
            </button>
          ))}
        </div>
        <label className="row">
          <span className="t2">Times in</span>
          <select
            className="in"
            value={zone}
            onChange={(event) => {
              store('zone', event.target.value);
              setZone(event.target.value);
              location.reload();
            }}
          >
            <option value="">{local}, as this machine</option>
            {['UTC', ...Intl.supportedValuesOf('timeZone')].map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      </div>
    </Section>
  );
}
