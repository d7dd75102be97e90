import type { Writable } from 'node:stream';
import { startPostgresRelay, type PostgresRelay } from './postgres-relay.ts';

const notificationResponse = 'A'.charCodeAt(0);

/** A relay before PostgreSQL that keeps notifications to itself, as poolers do that share connections by transaction. */
export function startDeafRelay(databaseUrl: string): Promise<PostgresRelay> {
  return startPostgresRelay(databaseUrl, { fromServer: withoutNotifications });
}

/** Each message of a server has its type and, in the four bytes behind it, its length without the type. */
function withoutNotifications(to: Writable): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0);
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 5 && rest.length > rest.readUInt32BE(1)) {
      const length = rest.readUInt32BE(1) + 1;
      if (rest[0] !== notificationResponse) {
        to.write(rest.subarray(0, length));
      }
      rest = rest.subarray(length);
    }
  };
}
