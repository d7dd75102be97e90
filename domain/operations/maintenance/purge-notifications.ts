import { agedSweep } from './aged-rows.ts';

/** Removes notifications, and the periods somebody was told of, as long ago as the events that they tell of are kept. */
export const purgeNotifications = agedSweep([
  { table: 'notifications', column: 'created_at', retention: '365 days' },
  { table: 'notified_periods', column: 'created_at', retention: '365 days' },
]);
