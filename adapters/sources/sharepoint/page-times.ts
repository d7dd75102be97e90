import { serviceTime } from '../shared/service-time.ts';

/** When a page was answered, by two clocks: the service's and ours. */
export interface PageTimes {
  /** By the clock that is behind. */
  earlier: string;
  /** By the clock that is ahead. */
  later: string;
}

export function pageTimes(headers: Headers): PageTimes {
  const now = Date.now();
  const theirs = Date.parse(headers.get('date') ?? '') || now;
  return { earlier: serviceTime(headers), later: new Date(Math.max(theirs, now)).toISOString() };
}
