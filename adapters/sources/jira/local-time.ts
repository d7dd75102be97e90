/** Its clocks show an earlier time than all others: what has changed since then is a superset in every zone. */
const westernmost = 'Etc/GMT+12';

/**
 * A time as JQL takes it: `2025-01-21 09:15`, which is read in the time zone of the account that asks.
 * @param timeZone of the account; without it, or with an unknown zone, the time is an earlier one
 */
export function localTime(time: Date, timeZone: string | null): string {
  const parts = new Map(
    formatter(timeZone)
      .formatToParts(time)
      .map(({ type, value }) => [type, value]),
  );
  const [year, month, day, hour, minute] = ['year', 'month', 'day', 'hour', 'minute'].map(
    (type) => parts.get(type as 'year') ?? '',
  );
  return `${year}-${month}-${day} ${hour}:${minute}`;
}

function formatter(timeZone: string | null): Intl.DateTimeFormat {
  const form = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  } as const;
  const inZone = (zone: string) =>
    new Intl.DateTimeFormat('en-GB', { ...form, hourCycle: 'h23', timeZone: zone });
  try {
    return inZone(timeZone ?? westernmost);
  } catch {
    return inZone(westernmost);
  }
}
