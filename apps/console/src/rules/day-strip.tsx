interface DayStripProps {
  /** `day` is spoken, `label` is written under the bar. `full` is drawn filled, `ghost` hollow. */
  readonly days: readonly {
    readonly day: string;
    readonly label: string;
    readonly full: number;
    readonly ghost: number;
  }[];
  readonly words: readonly [full: string, ghost: string];
}

const HEIGHT_PX = 56;

/** A bar for each day, oldest first. */
export function DayStrip({ days, words: [full, ghost] }: DayStripProps) {
  const most = Math.max(1, ...days.map((one) => one.full + one.ghost));
  const height = (value: number) => ({ height: `${Math.max(2, (HEIGHT_PX * value) / most)}px` });
  const spoken = days.map((one) => `${one.day}: ${one.full} ${full}, ${one.ghost} ${ghost}`).join('; ');
  return (
    <>
      <div className="dch" role="img" aria-label={`By day: ${spoken}`}>
        {days.map((one, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its day
          <div key={index}>
            <span className="col">
              {one.ghost > 0 && <i className="n" style={height(one.ghost)} />}
              {one.full > 0 && <i className="m" style={height(one.full)} />}
            </span>
            <span>{one.label}</span>
          </div>
        ))}
      </div>
      <div className="lg">
        <span>
          <i className="m" />
          {full}
        </span>
        <span>
          <i className="n" />
          {ghost}
        </span>
      </div>
    </>
  );
}
