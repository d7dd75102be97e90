import { clockOf, serviceTime } from '../shared/service-time.ts';

/** When a page was answered, by two clocks: the service's and ours. */
export interface PageTimes {
  /** By the clock that is behind. */
  earlier: string;
  /** By the clock that is ahead. */
  later: string;
}

export function pageTimes(headers: Headers): PageTimes {
  const later = Math.max(clockOf(headers), Date.now());
  return { earlier: serviceTime(headers), later: new Date(later).toISOString() };
}
