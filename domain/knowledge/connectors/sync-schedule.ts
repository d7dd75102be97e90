import { createHash } from 'node:crypto';
import { Cron } from 'croner';
import { invalid } from '#domain/foundation/kernel/errors.ts';

/** When a connector runs by itself; null is like `manual`. Cron has five fields and an IANA time zone. */
export type SyncSchedule =
  | { type: 'manual' }
  | { type: 'interval'; minutes: number }
  | { type: 'cron'; expression: string; timezone: string };

/** Runs of connectors with the same schedule are spread over this time. */
const jitterMs = 300_000;
export const minMinutes = 5;
export const maxMinutes = 525_600;
/** A cron that would run more often is refused. */
const minGapMs = minMinutes * 60_000;

/**
 * The schedule in its normal form.
 * @throws `invalid_request` below `/sync_schedule`
 */
export function requireSchedule(given: SyncSchedule | null): SyncSchedule | null {
  if (given?.type === 'interval' && !isBetween(given.minutes, minMinutes, maxMinutes)) {
    throw invalid('sync_schedule.minutes', `minutes must be ${minMinutes} to ${maxMinutes}.`);
  }
  if (given?.type === 'cron') {
    requireCron(given.expression, given.timezone);
  }
  return given;
}

/**
 * The next times after `after`, at most `count`. Each connector keeps a shift of its own of up to five minutes, so that
 * not all begin at once.
 */
export function nextRuns(
  schedule: SyncSchedule | null,
  connectorId: string,
  after: Date,
  count: number,
): Date[] {
  const shift = jitterOf(connectorId);
  switch (schedule?.type) {
    case 'interval': {
      const step = schedule.minutes * 60_000;
      const first = (Math.floor((after.getTime() - shift) / step) + 1) * step + shift;
      return Array.from({ length: count }, (_, n) => new Date(first + n * step));
    }
    case 'cron':
      return new Cron(schedule.expression, { timezone: schedule.timezone, mode: '5-part' })
        .nextRuns(count, new Date(after.getTime() - shift))
        .map((time) => new Date(time.getTime() + shift));
    case 'manual':
    case undefined:
      return [];
  }
}

/** The longest time between two runs; null: it does not run by itself. */
export function intervalOf(schedule: SyncSchedule | null, connectorId: string, now: Date): number | null {
  const times = nextRuns(schedule, connectorId, now, 4);
  const gaps = times.slice(1).map((time, n) => time.getTime() - (times[n]?.getTime() ?? 0));
  return gaps.length === 0 ? null : Math.max(...gaps);
}

function jitterOf(connectorId: string): number {
  return createHash('sha256').update(connectorId).digest().readUInt32BE() % jitterMs;
}

function requireCron(expression: string, timezone: string): void {
  if (expression.length > 100 || timezone.length > 64) {
    throw invalid('sync_schedule.expression', 'expression has at most 100 characters, timezone at most 64.');
  }
  if (!isZone(timezone)) {
    throw invalid('sync_schedule.timezone', 'timezone must be an IANA time zone such as Europe/Berlin.');
  }
  const times = timesOf(expression, timezone);
  if (times === null || times.length === 0) {
    throw invalid(
      'sync_schedule.expression',
      'expression must be five cron fields that name some future time, such as 0 6 * * 1-5.',
    );
  }
  if (times.some((time, n) => n > 0 && time.getTime() - (times[n - 1]?.getTime() ?? 0) < minGapMs)) {
    throw invalid(
      'sync_schedule.expression',
      `expression must leave ${minMinutes} minutes between two runs.`,
    );
  }
}

function timesOf(expression: string, timezone: string): Date[] | null {
  try {
    return new Cron(expression, { timezone, mode: '5-part' }).nextRuns(100);
  } catch {
    return null;
  }
}

function isZone(timezone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

const isBetween = (value: number, min: number, max: number): boolean =>
  Number.isInteger(value) && value >= min && value <= max;
