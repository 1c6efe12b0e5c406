import { type ReactNode, useId } from 'react';

/** A section with a title. */
export function Section({
  title,
  note,
  link,
  children,
  first = false,
}: {
  title: ReactNode;
  note?: ReactNode;
  link?: ReactNode;
  children: ReactNode;
  first?: boolean;
}) {
  const id = useId();
  return (
    <section className={`sec ${first ? 't0' : ''}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="n">{note}</span>}
        {link}
      </header>
      {children}
    </section>
  );
}

/** Names and values. */
export function Facts({ facts }: { facts: readonly (readonly [string, ReactNode] | false)[] }) {
  return (
    <dl className="kv">
      {facts.map(
        (fact) =>
          fact && (
            <div key={fact[0]} className="kvr">
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

export function Note({
  tone = '',
  icon,
  children,
}: {
  tone?: '' | 'warn' | 'bad' | 'ghost';
  icon: ReactNode;
  children: ReactNode;
}) {
  return (
    <div className={`note ${tone}`}>
      {icon}
      <div>{children}</div>
    </div>
  );
}
