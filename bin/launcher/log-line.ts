const LEVELS: Record<number, string> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
  60: 'fatal',
};
const LONGEST = 500;

/** A JSON log line as `12:34:56.789 info  text key=value`; any other line as it is, both cut to a screen's measure. */
export function shortenLogLine(line: string): string {
  const text = render(line) ?? line;
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}

function render(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  const record = parseRecord(line);
  if (!record) return undefined;
  const { level, time, msg, req, res, err, pid: _pid, hostname: _hostname, v: _version, ...rest } = record;
  if (typeof level !== 'number' || typeof time !== 'number') return undefined;
  const parts = [new Date(time).toISOString().slice(11, 23), (LEVELS[level] ?? String(level)).padEnd(5)];
  if (typeof msg === 'string') parts.push(msg);
  parts.push(...scalars(req, ['method', 'url']), ...scalars(res, ['statusCode']));
  for (const [key, value] of Object.entries(rest)) {
    if (isScalar(value)) parts.push(`${key}=${value}`);
  }
  const [failure] = scalars(err, ['message']);
  if (failure !== undefined && failure !== msg) parts.push(`(${failure})`);
  return parts.join(' ');
}

function parseRecord(line: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

function scalars(value: unknown, keys: readonly string[]): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const fields = new Map<string, unknown>(Object.entries(value));
  return keys
    .map((key) => fields.get(key))
    .filter(isScalar)
    .map(String);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
