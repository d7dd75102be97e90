import { agedSweep } from '#domain/operations/sweep-kinds/aged-rows.ts';

/** Deletes notifications and notified periods with the same retention as that of their events. */
export const purgeNotifications = agedSweep([
  { table: 'notifications', column: 'created_at', retention: '365 days' },
  { table: 'notified_periods', column: 'created_at', retention: '365 days' },
]);
