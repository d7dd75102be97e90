import {
  notificationResponse,
  serverMessages,
  startPostgresRelay,
  type PostgresRelay,
} from './postgres-relay.ts';

export interface DeafRelay extends PostgresRelay {
  /** From now on it delivers. */
  heal(): void;
}

/** A proxy before PostgreSQL that drops notifications, as transaction poolers do. */
export async function startDeafRelay(databaseUrl: string): Promise<DeafRelay> {
  let deaf = true;
  const relay = await startPostgresRelay(databaseUrl, {
    fromServer: (to) =>
      serverMessages((type, message) => {
        if (!deaf || type !== notificationResponse) {
          to.write(message);
        }
      }),
  });
  return { ...relay, heal: () => void (deaf = false) };
}
